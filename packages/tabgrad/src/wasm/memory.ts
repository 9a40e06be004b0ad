// The engine's memory. A threaded build gets all it may ever use at once, since growing under running threads is slow in
// some browsers and fails in others; pages of it that are never touched cost nothing. Where the browser refuses a size, a
// smaller one is tried.

const kPage = 65536;
const kMiB = 1024 * 1024;
const kThreadedSizes = [2048, 1024, 512, 256, 128].map((mib) => mib * kMiB);
const kSingleStart = 32 * kMiB;
/** The most that a 32-bit engine can address. */
const kSingleMost = 4096 * kMiB;

export function makeMemory(shared: boolean): WebAssembly.Memory {
  if (!shared) return new WebAssembly.Memory({ initial: kSingleStart / kPage, maximum: kSingleMost / kPage });
  for (const bytes of kThreadedSizes) {
    try {
      return new WebAssembly.Memory({ initial: bytes / kPage, maximum: bytes / kPage, shared: true });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Error(
    'The browser has no memory left for the engine (128 MB were refused). Close other tabs, then load this page again.',
  );
}
