// Builds a benchmark page with Vite as a folder that any static server can serve, runs it in one Chromium session and gives
// back its result with the facts about machine and browser. The commands around it choose sides and jobs and write tables
// (curve/main.ts, bench/peers/web/main.ts).
//
// On a host without node the same folder is run by the bundle's browse.py (tools/bundle); its result is read with --from.
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'vite';
import { launchChromium, launchFirefox, type ChromiumOptions } from '../../tests/web/lib/browsers.ts';
import { runPage } from '../../tests/web/lib/run_page.ts';
import { serve } from '../../tests/web/lib/server.ts';
import type { Config, Result } from './config.ts';

export interface Bench {
  /** Folder below build/ for this page. */
  name: string;
  config: Config;
  gpu: NonNullable<ChromiumOptions['gpu']>;
  /** Default: chromium. Firefox has a GPU only in software. */
  browser?: 'chromium' | 'firefox';
  /** false: no threads for anybody, as on a page without COOP/COEP headers. */
  isolated: boolean;
  /** Worker entries: output name to source. */
  workers: Record<string, string>;
  /** Files that the page needs besides: path below the page to file. */
  files?: Record<string, string>;
  define?: Record<string, string>;
  minutes: number;
  /** From the command line: stop after building; or take a result that browse.py wrote, of a machine with this processor. */
  buildOnly?: boolean;
  from?: string;
  cpu?: string;
}

/** From kElsewhere of cli.ts. */
export const elsewhere = (values: { 'build-only': boolean; from?: string; cpu?: string }): Partial<Bench> => ({
  buildOnly: values['build-only'],
  ...(values.from !== undefined && { from: values.from }),
  ...(values.cpu !== undefined && { cpu: values.cpu }),
});

/** A result with what the page cannot know. */
export interface Measured extends Result {
  date: string;
  cpu: string;
  gpu: Bench['gpu'];
  /** One-minute load average before and after: the bench itself is in the second. Null: not known (--from). */
  load: [number, number] | null;
  /** Requests that tried to leave the machine. Null: not watched. */
  outside: string[] | null;
}

const kRoot = join(import.meta.dirname, '../..');
/** tabgrad's worker, which names its engine's files so that Vite finds them. */
export const kOwnSource = join(kRoot, 'packages/tabgrad/dist/worker.js');
const kHtml =
  '<!doctype html><meta charset="utf-8"><title>bench</title><script type="module" src="page.js"></script>\n';

/** Null: the page was only built. */
export async function runBench(bench: Bench): Promise<Measured | null> {
  if (bench.from) return readResult(bench, bench.from);
  const folder = join(kRoot, 'build', bench.name);
  await buildPage(bench, folder);
  if (bench.buildOnly) return null;

  const before = loadavg()[0]!;
  const server = await serve(folder, { isolated: bench.isolated });
  const firefox = () => launchFirefox({ gpu: bench.gpu === 'none' ? 'none' : 'software' });
  const launched = bench.browser === 'firefox' ? firefox() : launchChromium({ gpu: bench.gpu });
  const browser = await launched.catch(async (error) => {
    await server.close();
    throw error;
  });
  try {
    const { result } = await runPage<Result | Failure>(browser, server, '', {
      timeout: bench.minutes * 60_000,
      onLine: (line) => console.error(line),
    });
    await writeFile(join(folder, 'result.json'), JSON.stringify(result)); // so that --from can make the table again
    return {
      ...succeeded(result),
      date: new Date().toISOString(),
      cpu: `${cpus()[0]?.model.trim() ?? 'unknown'} (${await cpuFlags()})`,
      gpu: bench.gpu,
      load: [before, loadavg()[0]!],
      outside: browser.outside,
    };
  } finally {
    await browser.close();
    await server.close();
  }
}

async function buildPage(bench: Bench, folder: string): Promise<void> {
  if (!existsSync(kOwnSource)) throw new Error(`${kOwnSource} is not there: make engine-web`);
  await build({
    configFile: false,
    root: kRoot,
    base: './',
    logLevel: 'error', // the package's own worker, which is not used here, names files that are not beside its source
    publicDir: false,
    define: bench.define ?? {},
    worker: { format: 'es' },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'esnext',
      modulePreload: false,
      assetsInlineLimit: 0,
      minify: false, // TensorFlow.js starts its threads from a function's text, which must keep its names
      chunkSizeWarningLimit: 4000,
      rollupOptions: {
        input: { page: join(import.meta.dirname, 'page.ts'), ...bench.workers },
        output: { entryFileNames: '[name].js' },
      },
    },
  });
  for (const [to, from] of Object.entries(bench.files ?? {})) {
    await mkdir(dirname(join(folder, to)), { recursive: true });
    await cp(from, join(folder, to));
  }
  await writeFile(join(folder, 'index.html'), kHtml);
  await writeFile(join(folder, 'config.json'), JSON.stringify(bench.config));
}

type Failure = { failed: string };

function succeeded(result: Result | Failure): Result {
  if ('failed' in result) throw new Error(result.failed);
  return result;
}

async function readResult(bench: Bench, file: string): Promise<Measured> {
  const result = succeeded(JSON.parse(await readFile(file, 'utf8')) as Result | Failure);
  const date = (await stat(file)).mtime.toISOString();
  return { ...result, date, cpu: bench.cpu ?? 'unknown', gpu: bench.gpu, load: null, outside: null };
}

/** The widest vector instructions, which the model's name alone often does not tell in a virtual machine. */
async function cpuFlags(): Promise<string> {
  const text = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  return ['avx512f', 'avx2', 'asimd'].find((flag) => new RegExp(`\\b${flag}\\b`).test(text)) ?? 'unknown';
}
