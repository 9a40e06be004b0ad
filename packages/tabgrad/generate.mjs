// Writes src/program/fbs/, the accessors of a Program's file format, from src/program/program.fbs of the engine, when that
// is newer.
import { execFileSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

export function generate() {
  const out = join(import.meta.dirname, 'src/program/fbs');
  const schema = resolve(import.meta.dirname, '../../src/program/program.fbs');
  const made = statSync(join(out, 'tabgrad/fbs.ts'), { throwIfNoEntry: false });
  if (made && made.mtimeMs >= statSync(schema).mtimeMs) return;
  rmSync(out, { recursive: true, force: true });
  execFileSync('flatc', ['--ts', '--ts-entry-points', '-o', out, schema]);
}

if (process.argv[1] === import.meta.filename) generate();
