// Which build of the engine this browser can run, and why not a faster one.
//
// The two modules below are the smallest that use one instruction of each proposal; validating them is the way to ask
// (as in Google's wasm-feature-detect).

export type BuildName = 'relaxed' | 'threads' | 'single';

export interface BuildChoice {
  build: BuildName;
  threads: number;
  /** Plain sentence when something is missing, else ''. */
  reason: string;
}

/** What decides; a parameter so that it can be tested. */
export interface Environment {
  simd: boolean;
  relaxedSimd: boolean;
  crossOriginIsolated: boolean;
  cores: number;
}

/** More workers than this cost more memory and start-up time than they give: products of a train step are small. */
const kMostThreads = 16;

// func () → v128: i8x16.popcnt (i8x16.splat 0)
const kSimd = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
];
// func () → v128: i8x16.relaxed_swizzle (i8x16.splat 1) (i8x16.splat 2)
const kRelaxedSimd = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15,
  253, 128, 2, 11,
];

export function environment(): Environment {
  return {
    simd: WebAssembly.validate(new Uint8Array(kSimd)),
    relaxedSimd: WebAssembly.validate(new Uint8Array(kRelaxedSimd)),
    crossOriginIsolated: globalThis.crossOriginIsolated === true && typeof SharedArrayBuffer !== 'undefined',
    cores: globalThis.navigator?.hardwareConcurrency ?? 1,
  };
}

/** threads: as many as wanted, 0 for all cores. build: in place of the best, where it can run. Throws where the engine cannot. */
export function chooseBuild(threads: number, env: Environment, build?: BuildName): BuildChoice {
  if (!env.simd) {
    throw new Error('This browser is too old for tabgrad: its WebAssembly has no SIMD. Please use a current browser.');
  }
  if (build === 'single') return { build, threads: 1, reason: 'Single thread, as asked for.' };
  if (!env.crossOriginIsolated) {
    return {
      build: 'single',
      threads: 1,
      reason: 'Single thread: this page is not cross-origin isolated, so the browser gives it no shared memory.',
    };
  }
  return {
    build: build !== 'threads' && env.relaxedSimd ? 'relaxed' : 'threads',
    threads: Math.max(1, Math.min(threads || env.cores, kMostThreads)),
    reason: env.cores > 1 || threads > 1 ? '' : 'Single thread: the browser reports one core.',
  };
}
