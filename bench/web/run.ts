// Builds a benchmark page with Vite, serves it, runs it in one Chromium session and gives back its result with the facts
// about machine and browser. The commands around it choose sides and jobs and write tables (curve.ts, bench/peers/web/main.ts).
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { launchChromium, type ChromiumOptions } from '../../tests/web/lib/browsers.ts';
import { runPage } from '../../tests/web/lib/run_page.ts';
import { serve } from '../../tests/web/lib/server.ts';
import type { Config, Result } from './page.ts';

export interface Bench {
  /** Folder below build/ for this page. */
  name: string;
  config: Config;
  gpu: NonNullable<ChromiumOptions['gpu']>;
  /** false: no threads for anybody, as on a page without COOP/COEP headers. */
  isolated: boolean;
  /** Worker entries: output name to source. */
  workers: Record<string, string>;
  /** URL prefixes to folders that the page needs besides. */
  folders?: Record<string, string>;
  define?: Record<string, string>;
  minutes: number;
}

/** A result with what the page cannot know. */
export interface Measured extends Result {
  date: string;
  cpu: string;
  browser: string;
  gpu: Bench['gpu'];
  /** One-minute load average before and after: the bench itself is in the second. */
  load: [number, number];
  config: Config;
  /** Requests that tried to leave the machine. */
  outside: string[];
}

const kRoot = join(import.meta.dirname, '../..');
/** Builds of the engine (packages/tabgrad/src/wasm/features.ts) to the presets that make them. */
const kEngines = { threads: 'wasm', relaxed: 'wasm-relaxed', single: 'wasm-single' };
const kHtml =
  '<!doctype html><meta charset="utf-8"><title>bench</title><script type="module" src="page.js"></script>\n';

export async function runBench(bench: Bench): Promise<Measured> {
  const folder = join(kRoot, 'build', bench.name);
  await build({
    configFile: false,
    root: kRoot,
    logLevel: 'warn',
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
  await writeFile(join(folder, 'index.html'), kHtml);
  await writeFile(join(folder, 'config.json'), JSON.stringify(bench.config));

  const before = loadavg()[0]!;
  const engines = Object.entries(kEngines).map(([name, preset]) => [
    `/engine/${name}/`,
    join(kRoot, 'build', preset, 'bin'),
  ]);
  const server = await serve(
    { '/': folder, ...Object.fromEntries(engines), ...bench.folders },
    { isolated: bench.isolated },
  );
  const browser = await launchChromium({ gpu: bench.gpu }).catch(async (error) => {
    await server.close();
    throw error;
  });
  try {
    const { result } = await runPage<Result | { failed: string }>(browser, server, '', {
      timeout: bench.minutes * 60_000,
      onLine: (line) => console.error(line),
    });
    if ('failed' in result) throw new Error(result.failed);
    return {
      ...result,
      date: new Date().toISOString(),
      cpu: `${cpus()[0]?.model.trim() ?? 'unknown'} (${await cpuFlags()})`,
      browser: `Chromium ${browser.version}`,
      gpu: bench.gpu,
      load: [before, loadavg()[0]!],
      config: bench.config,
      outside: browser.outside,
    };
  } finally {
    await browser.close();
    await server.close();
  }
}

/** The widest vector instructions, which the model's name alone often does not tell in a virtual machine. */
async function cpuFlags(): Promise<string> {
  const text = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  return ['avx512f', 'avx2', 'asimd'].find((flag) => new RegExp(`\\b${flag}\\b`).test(text)) ?? 'unknown';
}
