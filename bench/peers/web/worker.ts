// The peers' worker: `backend` is "library/backend", or "library/backend@N" for a page on a machine that reports N cores, or
// "@xN" for N times its cores: both libraries choose their threads from that number alone (TensorFlow.js takes half of it, at
// most 4; jax-js all).
import { serveSide } from '../../web/peer_worker.ts';

serveSide(async (which) => {
  const [library, backend, told] = which.split(/[/@]/) as [string, string, string | undefined];
  const value = told?.startsWith('x') ? Number(told.slice(1)) * navigator.hardwareConcurrency : Number(told);
  if (told) Object.defineProperty(navigator, 'hardwareConcurrency', { value });
  const { load } = library === 'tfjs' ? await import('./tfjs.ts') : await import('./jax.ts');
  return load(backend);
});
