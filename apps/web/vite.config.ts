import { defineConfig } from 'vite';
import { kHeaders } from './vite/policy.ts';
import { sitePlugin } from './vite/site_plugin.ts';

const isolation = Object.fromEntries(Object.entries(kHeaders).filter(([name]) => name.startsWith('Cross-Origin-')));

export default defineConfig({
  // Relative, so that the site works under any path of a host.
  base: './',
  plugins: [sitePlugin()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es' },
  server: { host: '127.0.0.1', headers: isolation, fs: { allow: ['../..'] } },
  build: {
    target: 'es2022',
    // Data URLs would need a wider policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
