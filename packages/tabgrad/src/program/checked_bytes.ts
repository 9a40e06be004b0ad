// A FlatBuffers file that was written by anybody: reads through it stay inside it, and end.
//
// npm's flatbuffers checks nothing: offsets point anywhere, lengths may be negative or larger than the file, and vectors that
// share elements make a small file as large as one likes. Here each read is checked, and all vectors together may have no more
// elements than the file has bytes, which no honest file exceeds.
// Does not: know what a field means (read.ts does).

import { ByteBuffer, type Encoding } from 'flatbuffers';

/** What is wrong with a file, without its name. */
export class DamagedFile extends Error {}

export class CheckedBytes extends ByteBuffer {
  readonly #size: number;
  #elements = 0;

  constructor(bytes: Uint8Array) {
    super(bytes);
    this.#size = bytes.length;
  }

  #check(at: number, bytes: number): void {
    if (!(at >= 0 && bytes >= 0 && at + bytes <= this.#size)) throw new DamagedFile('an offset leads out of the file');
  }

  override readUint8(at: number): number {
    this.#check(at, 1);
    return super.readUint8(at);
  }
  override readUint16(at: number): number {
    this.#check(at, 2);
    return super.readUint16(at);
  }
  override readInt32(at: number): number {
    this.#check(at, 4);
    return super.readInt32(at);
  }

  override __vector_len(at: number): number {
    const length = super.__vector_len(at);
    this.#check(super.__vector(at), length);
    this.#elements += length;
    if (this.#elements > this.#size) throw new DamagedFile('its parts are larger than the file');
    return length;
  }

  override __string(at: number, encoding?: Encoding): string | Uint8Array {
    this.__vector_len(at);
    return super.__string(at, encoding);
  }
}
