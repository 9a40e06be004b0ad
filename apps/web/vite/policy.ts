// The response headers that the site wants, in one place: the page's meta tag, the service worker and the file `_headers` of the
// build (read by tools/serve and by static hosts that know it) all take them from here.

export const kContentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

export const kHeaders: Record<string, string> = {
  // Both are needed for SharedArrayBuffer, and so for threads.
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': kContentSecurityPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** The file `_headers`: the same for every path. */
export function headersFile(): string {
  return ['/*', ...Object.entries(kHeaders).map(([name, value]) => `  ${name}: ${value}`), ''].join('\n');
}
