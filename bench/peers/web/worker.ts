// The peers' worker: `backend` is "library/backend", or "library/backend@N" for a page on a machine that reports N cores:
// both libraries choose their threads from that number alone (TensorFlow.js takes half of it, jax-js all).
import { serveSide } from '../../web/serve_side.ts';

serveSide(async (which) => {
  const [library, backend, cores] = which.split(/[/@]/) as [string, string, string | undefined];
  if (cores) Object.defineProperty(navigator, 'hardwareConcurrency', { value: Number(cores) });
  const { load } = library === 'tfjs' ? await import('./tfjs.ts') : await import('./jax.ts');
  return load(backend);
});
