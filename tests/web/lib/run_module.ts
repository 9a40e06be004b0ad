// Runs a program that Emscripten compiled to an ES module in a browser's worker and gives back its exit code and output.
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestBrowser } from './browsers.ts';
import { type RunPageOptions, runPage } from './run_page.ts';
import { serve, type ServerOptions } from './server.ts';

const kPages = fileURLToPath(new URL('../pages', import.meta.url));

export interface ModuleRun {
  exit: number;
  lines: string[];
  isolated: boolean;
}

/**
 * `file` is the .js or .mjs that Emscripten wrote, with its .wasm beside it. moreOptions: a file of an ES module whose default
 * export, called in the worker, gives the program more options.
 */
export async function runModule(
  browser: TestBrowser,
  file: string,
  args: string[] = [],
  options: RunPageOptions & Pick<ServerOptions, 'isolated'> & { moreOptions?: string } = {},
): Promise<ModuleRun> {
  const { isolated = true, moreOptions } = options;
  const folders = { '/': kPages, '/module/': dirname(file), ...(moreOptions && { '/options/': dirname(moreOptions) }) };
  const server = await serve(folders, { isolated });
  const query = new URLSearchParams([['module', `module/${basename(file)}`], ...args.map((arg) => ['arg', arg])]);
  if (moreOptions) query.set('options', `options/${basename(moreOptions)}`);
  try {
    return (await runPage<ModuleRun>(browser, server, `module.html?${query}`, options)).result;
  } finally {
    await server.close();
  }
}
