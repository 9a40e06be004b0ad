// A forecaster of Seattle's weather, trained by the native program and exported by it for pages. Needs build/native/tabgrad.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const kRoot = join(import.meta.dirname, '../../../..');
const kTabgrad = process.env.TABGRAD_CLI ?? join(kRoot, 'build/native/bin/tabgrad');

/** options: of `tabgrad train forecast`. Gives a folder with run.json, what training found, and page/model, what was exported. */
export function exportModel(options: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'tabgrad-exported-'));
  const csv = join(kRoot, 'examples/data/seattle-weather.csv');
  const tabgrad = (...args: string[]) => execFileSync(kTabgrad, args, { cwd: kRoot });
  const files = ['--out', `${folder}/model`, '--json', `${folder}/run.json`];
  const always = ['--csv', csv, '--target', 'temp_max', '--patience', '0', '--seed', '7'];
  tabgrad('train', 'forecast', ...always, ...options, ...files);
  tabgrad('export', '--model', `${folder}/model`, '--csv', csv, '--to', 'program', '--out', `${folder}/page/model`);
  return folder;
}
