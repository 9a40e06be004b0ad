// Starts the toolchain's own browsers, headless, with nothing of a user's in them and no way out of the machine.
//
// Chromium through Playwright: whole API for stories. Firefox through Puppeteer, because Playwright's Firefox is a patched
// build and its BiDi mode asks for commands that ESR 153 does not have: enough to load a page and take its result.
// Every browser has a fresh profile and dies with close(), or with this process.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium as playwright, type Page } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { refuseOutside } from './outside.ts';

const kChromium = process.env.TABGRAD_CHROMIUM ?? '/usr/bin/chromium-headless-shell';
const kFirefox = process.env.TABGRAD_FIREFOX ?? '/usr/bin/firefox-esr';
const kStartMs = 60_000;

const kQuiet = [
  '--no-sandbox', // the toolchain's root has no user namespaces
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const kGpu = {
  none: ['--disable-gpu', '--disable-software-rasterizer'],
  software: [
    '--enable-unsafe-webgpu',
    '--use-webgpu-adapter=swiftshader',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
  ],
  // A real card through Vulkan, seen working on NVIDIA. Chromium's own SwiftShader must be out of its way.
  hardware: [
    '--enable-unsafe-webgpu',
    '--enable-features=Vulkan,VulkanFromANGLE,DefaultANGLEVulkan',
    '--use-angle=vulkan',
    '--ignore-gpu-blocklist',
    '--use-webgpu-adapter=default',
    '--use-webgpu-power-preference=default-high-performance',
  ],
};

/** What both drivers' pages have, as far as runPage needs it. */
export interface AnyPage {
  goto(url: string, options?: { timeout?: number; waitUntil?: 'load' | 'domcontentloaded' }): Promise<unknown>;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): unknown;
  on(event: 'pageerror', listener: (error: unknown) => void): unknown;
  on(event: 'crash' | 'close', listener: () => void): unknown;
  close(): Promise<void>;
}

export interface TestBrowser<P extends AnyPage = AnyPage> {
  name: string;
  version: string;
  newPage(): Promise<P>;
  /** What a page, a worker or the browser tried to reach outside 127.0.0.1: "host:port" or URL. All of it was refused. */
  outside: string[];
  close(): Promise<void>;
}

export interface ChromiumOptions {
  /** none: no WebGPU, no WebGL. software: SwiftShader for both, never to be shown as a GPU. */
  gpu?: keyof typeof kGpu;
  /** A profile folder to keep (storage, service workers) from one launch to the next; default: one that goes away. */
  profile?: string;
  args?: string[];
  /** Playwright's: viewport, colorScheme, reducedMotion, acceptDownloads, … */
  context?: BrowserContextOptions;
}
export type Chromium = TestBrowser<Page> & { context: BrowserContext };

export async function launchChromium(options: ChromiumOptions = {}): Promise<Chromium> {
  const outside = await refuseOutside();
  const profile = options.profile ?? (await mkdtemp(join(tmpdir(), 'tabgrad-chromium-')));
  const remove = async () => {
    await outside.close();
    if (!options.profile) await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const context = await playwright.launchPersistentContext(profile, {
      executablePath: kChromium,
      headless: true,
      timeout: kStartMs,
      args: [
        ...kQuiet,
        `--proxy-server=http://${outside.address}`,
        ...kGpu[options.gpu ?? 'none'],
        ...(options.args ?? []),
      ],
      ...options.context,
    });
    return {
      name: 'chromium',
      version: context.browser()?.version() ?? '',
      context,
      newPage: () => context.newPage(),
      outside: outside.attempts,
      close: async () => {
        await context.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

export interface FirefoxOptions {
  /** software: WebGPU on the root's lavapipe, never to be shown as a GPU. */
  gpu?: 'none' | 'software';
  /** An X server (":99") to have a window on: headless, Firefox has no WebGL, which it gets from GL of a display. */
  display?: string;
  prefs?: Record<string, unknown>;
}

export async function launchFirefox(options: FirefoxOptions = {}): Promise<TestBrowser> {
  const outside = await refuseOutside();
  try {
    const browser = await puppeteer.launch({
      browser: 'firefox',
      executablePath: kFirefox,
      headless: options.display === undefined,
      ...(options.display !== undefined && { env: { ...process.env, DISPLAY: options.display } }),
      timeout: kStartMs,
      extraPrefsFirefox: {
        'network.proxy.type': 1,
        'network.proxy.http': '127.0.0.1',
        'network.proxy.http_port': outside.port,
        'network.proxy.ssl': '127.0.0.1',
        'network.proxy.ssl_port': outside.port,
        'network.captive-portal-service.enabled': false,
        'network.connectivity-service.enabled': false,
        'services.settings.server': 'data:,', // no remote settings
        ...(options.gpu === 'software' && { 'dom.webgpu.enabled': true, 'gfx.webgpu.ignore-blocklist': true }),
        ...(options.display !== undefined && { 'webgl.force-enabled': true }),
        ...options.prefs,
      },
    });
    return {
      name: 'firefox',
      version: await browser.version(),
      newPage: () => browser.newPage() as unknown as Promise<AnyPage>,
      outside: outside.attempts,
      close: async () => {
        await browser.close();
        await outside.close();
      },
    };
  } catch (error) {
    await outside.close();
    throw error;
  }
}
