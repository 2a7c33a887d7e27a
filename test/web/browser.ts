/** A real Chromium on the page of a running stack; each look is a profile of its own. */
import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { findChromium } from '../../cli/setup/chromium.ts';

const stateDir = resolve(import.meta.dirname, '..', '..', '.fermata');
const executablePath = findChromium(stateDir, process.env);

/** Where there is none that starts, tests are reported as skipped, by their names. */
export const hasChromium =
  executablePath !== null && spawnSync(executablePath, ['--version'], { timeout: 30_000 }).status === 0;

/** Milliseconds that the page may take to show something: the machine may be busy with other tests. */
export const showsWithinMs = 30_000;

const screenshots = resolve(import.meta.dirname, 'screenshots');

export interface Look {
  readonly page: Page;
  /** What went wrong in it: errors of its scripts and of its console. */
  readonly errors: readonly string[];
  /** Addresses that it has asked. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export class TestBrowser {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<TestBrowser> {
    if (executablePath === null) throw new Error('no Chromium was found');
    // Tests may run as root and in containers with little shared memory.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
    return new TestBrowser(await chromium.launch({ executablePath, args, timeout: 60_000 }));
  }

  async open(url: string, options: BrowserContextOptions = {}): Promise<Look> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(showsWithinMs);
    const errors: string[] = [];
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`);
    });
    await page.goto(url);
    return { page, errors, requests, close: async () => await context.close() };
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/** Kept for people to look at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  await mkdir(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`) });
}
