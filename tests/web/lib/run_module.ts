// Runs a program that Emscripten compiled to an ES module in a browser's worker and gives back its exit code and output.
import { dirname } from 'node:path';
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

/** `file` is the .js or .mjs that Emscripten wrote, with its .wasm beside it. */
export async function runModule(
  browser: TestBrowser,
  file: string,
  args: string[] = [],
  options: RunPageOptions & Pick<ServerOptions, 'isolated'> = {},
): Promise<ModuleRun> {
  const name = file.slice(dirname(file).length + 1);
  const server = await serve({ '/': kPages, '/module/': dirname(file) }, { isolated: options.isolated ?? true });
  const query = new URLSearchParams([['module', `module/${name}`], ...args.map((arg) => ['arg', arg])]);
  try {
    return (await runPage<ModuleRun>(browser, server, `module.html?${query}`, options)).result;
  } finally {
    await server.close();
  }
}
