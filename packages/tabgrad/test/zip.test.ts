import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crc32, zip } from '../src/runs/zip.ts';

test('CRC-32 of the standard check text', () => {
  expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
});

test('another program reads the files back', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tabgrad-zip-')), 'model.zip');
  const files = [
    { name: 'model.json', bytes: new TextEncoder().encode('{"größe": 1}') },
    { name: 'weights.safetensors', bytes: Uint8Array.from({ length: 70_000 }, (_, i) => i % 251) },
    { name: 'empty', bytes: new Uint8Array() },
  ];
  writeFileSync(path, zip(files, new Date(2026, 10, 30, 12, 34, 56)));
  const script = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    print(json.dumps([[i.filename, i.date_time, list(z.read(i))] for i in z.infolist()]))`;
  const read = JSON.parse(execFileSync('python3', ['-c', script, path], { encoding: 'utf8', maxBuffer: 1 << 24 }));
  expect(read).toEqual(files.map(({ name, bytes }) => [name, [2026, 11, 30, 12, 34, 56], [...bytes]]));
});
