// What a build of the site has beyond Vite's own: the policy in the page, `_headers`, the service worker with its list of files,
// and a report of transfer sizes that fails the build over the budget.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'vite';
import { headersFile, kContentSecurityPolicy, kHeaders } from './policy.ts';

/** WASM and JavaScript that one visit loads, compressed (BENCHMARKS C1). */
const kBudgetBytes = 700_000;

interface Built {
  name: string;
  bytes: Buffer;
}

function filesUnder(folder: string): Built[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ name: relative(folder, path).replaceAll('\\', '/'), bytes: readFileSync(path) }));
}

/**
 * Kept from the first visit on. Not so the engine's builds, of which one runs, and long texts, which few ask for: they are kept
 * when they are loaded.
 */
function kept(name: string): boolean {
  return !/\.(wasm|map|txt)$/.test(name) && name !== '_headers' && name !== 'sw.js';
}

async function buildServiceWorker(root: string, outDir: string): Promise<void> {
  const files = filesUnder(outDir).filter((file) => kept(file.name));
  const hash = createHash('sha256');
  for (const file of filesUnder(outDir)) hash.update(file.name).update(file.bytes);
  await build({
    configFile: false,
    root,
    publicDir: false,
    logLevel: 'warn',
    define: {
      __VERSION__: JSON.stringify(hash.digest('hex').slice(0, 16)),
      __FILES__: JSON.stringify(files.map((file) => file.name)),
      __HEADERS__: JSON.stringify(kHeaders),
    },
    build: {
      outDir,
      emptyOutDir: false,
      rolldownOptions: {
        input: resolve(root, 'src/service_worker/sw.ts'),
        output: { entryFileNames: 'sw.js', format: 'iife' },
      },
    },
  });
}

function reportSizes(outDir: string): void {
  const rows = filesUnder(outDir)
    .filter((file) => /\.(js|mjs|wasm|css|html)$/.test(file.name))
    .map((file) => ({ name: file.name, raw: file.bytes.length, gz: gzipSync(file.bytes, { level: 9 }).length }));
  const kb = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`.padStart(11);
  console.log('\ntransfer sizes          raw    gzipped');
  for (const row of rows) console.log(`${kb(row.raw).padStart(27)}${kb(row.gz)}  ${row.name}`);
  const sum = (list: typeof rows) => list.reduce((total, row) => total + row.gz, 0);
  const wasm = rows.filter((row) => row.name.endsWith('.wasm'));
  const glue = rows.filter((row) => row.name.endsWith('.mjs'));
  const scripts = rows.filter((row) => row.name.endsWith('.js'));
  const largest = (list: typeof rows) => Math.max(0, ...list.map((row) => row.gz));
  // A visit loads all scripts at most, and one of the engine's builds with its glue: the largest are counted.
  const visit = sum(scripts) + largest(glue) + largest(wasm);
  console.log(`one visit, WASM and JavaScript: ${kb(visit).trim()} gzipped, of ${kb(kBudgetBytes).trim()}\n`);
  if (visit > kBudgetBytes) {
    throw new Error(
      `WASM and JavaScript of one visit are ${kb(visit).trim()} gzipped, over the budget of ${kb(kBudgetBytes).trim()}.`,
    );
  }
}

export function sitePlugin(): Plugin {
  let root = '';
  let outDir = '';
  let building = false;
  return {
    name: 'tabgrad-site',
    configResolved(config) {
      root = config.root;
      outDir = resolve(config.root, config.build.outDir);
      building = config.command === 'build';
    },
    transformIndexHtml(html) {
      // Vite's own server puts styles into the page.
      const policy = building
        ? kContentSecurityPolicy
        : kContentSecurityPolicy.replace('style-src', "style-src 'unsafe-inline'");
      return html.replace('%CONTENT_SECURITY_POLICY%', policy);
    },
    async closeBundle(error?: Error) {
      if (!building || error) return;
      writeFileSync(join(outDir, '_headers'), headersFile());
      await buildServiceWorker(root, outDir);
      reportSizes(outDir);
    },
  };
}
