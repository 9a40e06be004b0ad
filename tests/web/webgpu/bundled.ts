// A module of the package, with all that it imports, as one file in a folder of its own for a page to load.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../../packages/tabgrad/bundle.mjs';
import { generate } from '../../../packages/tabgrad/generate.mjs';

export async function bundled(source: string): Promise<{ folder: string; file: string }> {
  generate();
  const folder = mkdtempSync(join(tmpdir(), 'tabgrad-bundle-'));
  const file = join(folder, 'bundle.js');
  await bundle(source, file);
  return { folder, file };
}
