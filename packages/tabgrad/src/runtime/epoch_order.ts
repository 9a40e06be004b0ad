// The order in which an epoch takes its examples: as src/train/trainer.cc, bit for bit.

/** Ten rounds of Philox4x32 (src/tensor/philox.h). */
export function philox4x32(key: readonly [number, number], counter: readonly number[]): Uint32Array {
  let [k0, k1] = key;
  const c = Uint32Array.from(counter);
  for (let round = 0; round < 10; ++round) {
    const [c0, c1, c2, c3] = c as unknown as [number, number, number, number];
    c[0] = highWord(0xcd9e8d57, c2) ^ c1 ^ k0;
    c[1] = Math.imul(0xcd9e8d57, c2);
    c[2] = highWord(0xd2511f53, c0) ^ c3 ^ k1;
    c[3] = Math.imul(0xd2511f53, c0);
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  return c;
}

/** Of the product of two words, in pieces that a number holds exactly. */
function highWord(a: number, b: number): number {
  const [aHigh, aLow, bHigh, bLow] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff];
  const middle = aHigh * bLow + Math.floor((aLow * bLow) / 65536);
  const low = aLow * bHigh + (middle % 65536);
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(low / 65536)) >>> 0;
}

const kShuffleStream = 0x53485546;
const kShuffleStep = 0xffffffff;

/** Fisher–Yates with words keyed by (seed, epoch). */
export function epochOrder(seed: bigint, epoch: number, examples: number): Uint32Array {
  const key = [Number(seed & 0xffffffffn), Number((seed >> 32n) & 0xffffffffn)] as const;
  const order = Uint32Array.from({ length: examples }, (_, i) => i);
  let words = new Uint32Array(4);
  for (let i = examples - 1, drawn = 0; i > 0; --i, ++drawn) {
    if (drawn % 4 === 0) words = philox4x32(key, [drawn / 4, epoch, kShuffleStream, kShuffleStep]) as typeof words;
    const j = highWord(words[drawn % 4]!, i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
