// The harness itself: that it sees what it is there to see.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Chromium, launchChromium, launchFirefox, type TestBrowser } from '../lib/browsers.ts';
import { runModule } from '../lib/run_module.ts';
import { runPage } from '../lib/run_page.ts';
import { serve } from '../lib/server.ts';

const kHere = import.meta.dirname;

interface Facts {
  isolated: boolean;
  cores: number;
  outside: string;
}

describe.each([
  ['chromium', launchChromium],
  ['firefox', launchFirefox],
])('%s', (_, launch: () => Promise<TestBrowser>) => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  test('a page posts its result, with and without isolation, below a base path', async () => {
    for (const isolated of [true, false]) {
      const server = await serve(kHere, { isolated, base: '/below/' });
      const { result, lines } = await runPage<Facts>(browser, server, 'facts.html');
      await server.close();
      expect(result.isolated).toBe(isolated);
      expect(result.cores).toBeGreaterThan(0);
      expect(lines).toContain('facts found');
      expect(server.requests).toContain('/below/facts.html');
    }
  });

  test('a request to another host is refused and written down', async () => {
    const server = await serve(kHere);
    const before = browser.outside.length;
    const { result } = await runPage<Facts>(browser, server, 'facts.html?fetch=https://example.com/x');
    await server.close();
    expect(result.outside).toMatch(/TypeError/);
    expect(browser.outside.slice(before)).toContain('example.com:443');
  });

  test('a page that throws or never answers fails with its output', async () => {
    const server = await serve(kHere);
    await expect(runPage(browser, server, 'facts.html?throw=1')).rejects.toThrow(/on purpose/);
    await expect(runPage(browser, server, 'facts.html?silent=1', { timeout: 1500 })).rejects.toThrow(/facts found/);
    await server.close();
  });

  test('a module runs in a worker; its output and exit code come back', async () => {
    const run = await runModule(browser, `${kHere}/echo_module.js`, ['one', 'two']);
    expect(run).toEqual({ exit: 7, lines: ['one', 'two'], isolated: true });
  });
});

describe('server', () => {
  test('serves only what is mounted', async () => {
    const server = await serve({ '/a/': kHere });
    const get = async (path: string) => (await fetch(server.origin + path)).status;
    expect(await get('/a/facts.html')).toBe(200);
    expect(await get('/facts.html')).toBe(404);
    expect(await get('/a/%2e%2e/lib/server.ts')).toBe(404);
    expect(await get('/a/..%2flib/server.ts')).toBe(404);
    await server.close();
  });
});

describe('chromium only', () => {
  let browser: Chromium;
  beforeAll(async () => {
    browser = await launchChromium({ gpu: 'software' });
  });
  afterAll(() => browser?.close());

  test('software WebGPU and WebGL2 are there and say what they are', async () => {
    const server = await serve(kHere);
    const page = await browser.newPage();
    await page.goto(`${server.url}facts.html?silent=1`);
    const gpu = await page.evaluate(async () => {
      const adapter = await navigator.gpu?.requestAdapter();
      const gl = document.createElement('canvas').getContext('webgl2');
      const info = gl?.getExtension('WEBGL_debug_renderer_info');
      return {
        webgpu: adapter ? `${adapter.info.vendor} ${adapter.info.architecture} ${adapter.info.description}` : '',
        webgl: gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : '',
      };
    });
    await page.close();
    await server.close();
    expect(gpu.webgpu).toMatch(/swiftshader/i);
    expect(gpu.webgl).toMatch(/swiftshader/i);
  });
});
