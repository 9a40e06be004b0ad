import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unzip } from '../../src/lm/unzip.ts';
import { zip } from '../../src/runs/zip.ts';

const kFiles = [
  { name: 'config.json', bytes: new TextEncoder().encode('{}') },
  { name: 'model.safetensors', bytes: Uint8Array.from({ length: 50_000 }, (_, i) => i % 7) },
];

const contents = (files: { name: string; bytes: Uint8Array }[]) => files.map(({ name, bytes }) => [name, [...bytes]]);

test('our own archives come back', async () => {
  expect(contents(await unzip('a.zip', zip(kFiles)))).toEqual(contents(kFiles));
});

test('another program’s compressed archive with folders', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tabgrad-unzip-')), 'a.zip');
  const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:
    z.mkdir('m')
    z.writestr('m/config.json', '{}')
    z.writestr('m/model.safetensors', bytes(i % 7 for i in range(50000)))
    z.comment = b'a comment'`;
  execFileSync('python3', ['-c', script, path]);
  const read = await unzip('a.zip', new Uint8Array(readFileSync(path)));
  expect(contents(read)).toEqual(contents(kFiles.map((file) => ({ ...file, name: `m/${file.name}` }))));
});

test('damage is found, wherever it is', async () => {
  const good = zip(kFiles);
  await expect(unzip('a.zip', new TextEncoder().encode('not a zip at all, but long enough for one'))).rejects.toThrow(
    /a\.zip is no ZIP file/,
  );
  for (let at = 0; at < good.length; at += 97) {
    const bytes = good.slice();
    bytes[at]! ^= 0x5a;
    // Either it is refused with a text for people, or the byte was of no importance (a date).
    const read = await unzip('a.zip', bytes).catch((error: Error) => error.message);
    if (typeof read === 'string') expect(read).toMatch(/^a\.zip/);
    else expect(read.map(({ bytes: content }) => content.length)).toEqual([2, 50_000]);
  }
  for (const end of [0, 10, 100, good.length - 1]) {
    await expect(unzip('a.zip', good.slice(0, end))).rejects.toThrow(/a\.zip/);
  }
});
