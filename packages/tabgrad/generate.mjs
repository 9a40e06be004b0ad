// Writes src/program/fbs/, the accessors of a Program's file format, from src/program/program.fbs of the engine.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

export function generate() {
  const out = join(import.meta.dirname, 'src/program/fbs');
  const schema = resolve(import.meta.dirname, '../../src/program/program.fbs');
  rmSync(out, { recursive: true, force: true });
  execFileSync('flatc', ['--ts', '-o', out, schema]);
}

if (process.argv[1] === import.meta.filename) generate();
