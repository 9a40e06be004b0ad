// Opens a page that computes something and waits for the JSON it POSTs to /__result of its server. For pages that run by
// themselves: a test binary compiled to WASM, a bench. A page's error, a crash or too long a wait fail with its last output.
import type { AnyPage, TestBrowser } from './browsers.ts';
import type { Server } from './server.ts';

export interface RunPageOptions {
  /** Milliseconds from opening the page to its result (default 60,000). */
  timeout?: number;
  /** Each line of the page's console as it comes. */
  onLine?: (line: string) => void;
}
export interface PageRun<T> {
  result: T;
  /** The console's lines, errors and warnings marked so. */
  lines: string[];
}

/** `path` is below the server's base. One page at a time per server: results carry no names. */
export async function runPage<T = unknown>(
  browser: TestBrowser,
  server: Server,
  path: string,
  options: RunPageOptions = {},
): Promise<PageRun<T>> {
  const { timeout = 60_000, onLine } = options;
  const lines: string[] = [];
  const line = (text: string) => {
    lines.push(text);
    onLine?.(text);
  };
  const url = new URL(path, server.url).href;
  const page: AnyPage = await browser.newPage();
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const failed = new Promise<never>((_, reject) => {
      const fail = (why: string) => reject(new Error(`${url}: ${why}\n${lines.slice(-40).join('\n')}`));
      timer = setTimeout(() => fail(`no result after ${timeout / 1000} s`), timeout);
      page.on('console', (m) => line(/^(error|warn)/.test(m.type()) ? `${m.type()}: ${m.text()}` : m.text()));
      page.on('pageerror', (error) => {
        const text = error instanceof Error ? (error.stack ?? String(error)) : String(error);
        // Firefox's log has the browser's remarks on failed requests among the script errors.
        if (text.includes('Cross-Origin Request Blocked')) line(`error: ${text}`);
        else fail(`uncaught ${text}`);
      });
      page.on('crash', () => fail('the page crashed'));
      page.on('close', () => fail('the page was closed'));
      page.goto(url, { timeout, waitUntil: 'load' }).catch((error) => fail(String(error)));
    });
    return { result: (await Promise.race([server.result(), failed])) as T, lines };
  } finally {
    clearTimeout(timer);
    await page.close().catch(() => {});
  }
}
