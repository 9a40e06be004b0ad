// What the stories of the page "Forecast" share: the built site in a browser, and the page's controls by the names people see.
//
// Every story runs on apps/web/dist as it is shipped: build it with `make site`.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Chromium, type ChromiumOptions, launchChromium } from '../lib/browsers.ts';
import { serve, type Server, type ServerOptions } from '../lib/server.ts';

const kRoot = join(import.meta.dirname, '../../..');
export const kSite = join(kRoot, 'apps/web/dist');

/** Long enough for a start on two busy cores. */
export const kSlow = 60_000;

export interface Site {
  server: Server;
  browser: Chromium;
  page: Page;
  /** Texts of errors in the page's console. */
  errors: string[];
  close(): Promise<void>;
}

export function example(name: string): string {
  return readFileSync(join(kRoot, 'examples/data', name), 'utf8');
}

export function serveSite(options: ServerOptions = {}, folder = kSite): Promise<Server> {
  if (!existsSync(join(folder, 'index.html'))) throw new Error(`${folder} is not built: run 'make site'`);
  return serve(folder, options);
}

export async function openSite(
  options: {
    address?: string;
    /** The built site, or a copy that a test changes. */
    folder?: string;
    server?: ServerOptions;
    browser?: ChromiumOptions;
    /** Before the page is loaded. */
    prepare?: (page: Page) => Promise<unknown>;
  } = {},
): Promise<Site> {
  const server = await serveSite(options.server, options.folder);
  const browser = await launchChromium(options.browser);
  const page = await browser.newPage();
  page.setDefaultTimeout(kSlow);
  const errors: string[] = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  await options.prepare?.(page);
  await page.goto(server.url + (options.address ?? ''));
  const close = async () => {
    await browser.close();
    await server.close();
  };
  return { server, browser, page, errors, close };
}

/** The engine is up: the footer says how it runs. */
export async function engineLine(page: Page): Promise<string> {
  const line = page.locator('footer', { hasText: 'on this device' });
  await line.waitFor();
  return (await line.innerText()).trim();
}

/** Drops a file on the page, as a hand would. */
export async function drop(page: Page, name: string, content: string | Uint8Array): Promise<void> {
  const bytes = [...(typeof content === 'string' ? new TextEncoder().encode(content) : content)];
  await page.evaluate(
    ([file, data]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(data)], file, { type: 'text/csv' }));
      const init = { dataTransfer: transfer, bubbles: true, cancelable: true };
      for (const type of ['dragenter', 'dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, init));
    },
    [name, bytes] as const,
  );
}

export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Presses Train once the settings are found possible. */
export async function train(page: Page): Promise<void> {
  await page.locator('.plan').waitFor();
  await button(page, 'Train').click();
  await page.getByRole('heading', { name: 'Training' }).waitFor();
}

export async function verdict(page: Page): Promise<string> {
  const text = page.locator('.verdict');
  await text.waitFor({ timeout: 2 * kSlow });
  return text.innerText();
}

/** Steps done, as shown beside the loss chart; 0 before the first. */
export async function stepsDone(page: Page): Promise<number> {
  const shown = page.locator('.training .stats div', { has: page.getByText(/^steps?$/) }).locator('dd');
  if ((await shown.count()) === 0) return 0;
  return Number((await shown.innerText()).split(' of ')[0]!.replaceAll(',', ''));
}

export async function waitForSteps(page: Page, steps: number): Promise<void> {
  await expect.poll(() => stepsDone(page), { timeout: kSlow, interval: 50 }).toBeGreaterThanOrEqual(steps);
}

/** The rows of the table of baselines. */
export async function metrics(page: Page): Promise<string[]> {
  return page.getByRole('region', { name: 'Errors of model and baselines' }).locator('tbody tr').allInnerTexts();
}

export async function downloaded(page: Page, name: string): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, name).click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

const kAxe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds that keeps people from using the page. */
export async function accessProblems(page: Page): Promise<string[]> {
  const found = await page.evaluate<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>(
    `${kAxe}; axe.run()`,
  );
  return found.violations.map(
    (v) => `${v.impact} ${v.id}: ${v.nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`,
  );
}
