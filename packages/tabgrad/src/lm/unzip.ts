// Reads the files of a ZIP archive: stored and deflated ones, as all common programs write. PKWARE's APPNOTE 6.3.
//
// Does: checks every offset and size against the archive. Does not: 64-bit extensions, encryption.

import { crc32, type ZipFile } from '../runs/zip.ts';
import { UserError } from '../wasm/engine.ts';

const kEndBytes = 22;
const kMostComment = 65_535;
/** An archive that says it holds more is refused before it is unpacked. */
const kMostBytes = 2 ** 31;

export async function unzip(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<ZipFile[]> {
  const damaged = (what: string) => new UserError(`${name} is no ZIP file, or damaged: ${what}.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let end = bytes.length - kEndBytes;
  while (end >= 0 && end >= bytes.length - kEndBytes - kMostComment && view.getUint32(end, true) !== 0x06054b50) --end;
  if (end < 0 || view.getUint32(end, true) !== 0x06054b50) throw damaged('its list of files is missing');
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const files: ZipFile[] = [];
  let total = 0;
  for (let i = 0; i < count; ++i) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) throw damaged('its list of files ends early');
    const flags = view.getUint16(at + 8, true);
    const method = view.getUint16(at + 10, true);
    const crc = view.getUint32(at + 16, true);
    const packed = view.getUint32(at + 20, true);
    const size = view.getUint32(at + 24, true);
    const nameBytes = view.getUint16(at + 28, true);
    const local = view.getUint32(at + 42, true);
    const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameBytes));
    at += 46 + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (path.endsWith('/')) continue;
    if (flags & 1) throw new UserError(`${name}: ${path} is encrypted. Unpack the archive first.`);
    total += size;
    if (total > kMostBytes) throw new UserError(`${name} holds more than 2 GB, which is too large to open here.`);
    if (local + 30 > bytes.length || view.getUint32(local, true) !== 0x04034b50) throw damaged(`${path} is not there`);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    if (start + packed > bytes.length) throw damaged(`${path} is cut off`);
    const content = await unpack(bytes.subarray(start, start + packed), method, size).catch(() => null);
    if (!content || content.length !== size || crc32(content) !== crc) throw damaged(`${path} is not whole`);
    files.push({ name: path, bytes: content });
  }
  return files;
}

async function unpack(packed: Uint8Array<ArrayBuffer>, method: number, size: number): Promise<Uint8Array | null> {
  if (method === 0) return packed;
  if (method !== 8) return null;
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const out = new Uint8Array(size);
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return at === size ? out : null;
    if (at + value.length > size) return null; // more than it said
    out.set(value, at);
    at += value.length;
  }
}
