/** The page for everyone: by keyboard, by screen reader, on a phone, in the dark. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seriousFaults } from './axe.ts';
import { hasChromium, keepScreenshot } from './browser.ts';
import { PageStack, task } from './page-stack.ts';

let on: PageStack;
/** Ended, with a child; waiting for approval, with a budget; at work. */
let runs: { readonly ended: string; readonly waiting: string; readonly atWork: string };
let held: ReturnType<PageStack['hold']>;

beforeAll(async () => {
  if (!hasChromium) return;
  on = await PageStack.start({ replica: { maxConcurrent: 1 } });
  const words = 'Look at every bird of the marsh, one after the other, and name those that stay all winter.';
  const ended = await on.spawn({
    task: task(words, { calls: ['lookup', 'lookup'], answer: 'Ducks. '.repeat(80) }),
  });
  const child = await on.spawn({
    parent: ended,
    task: task('Look at teals.', { calls: [], answer: 'Teals.' }),
  });
  await on.ended(ended, child);
  const page = `a-very-long-name-of-a-page-${'x'.repeat(300)}`;
  const calls = [{ tool: 'delete_page', arguments: { page } }];
  const waiting = await on.spawn({ task: task('Tidy up.', { calls, answer: 'done' }), budgetTokens: 90_000 });
  await on.stack.client.call('await', { handles: [waiting], timeoutSeconds: 60 });
  held = on.hold('Stay at work.');
  const atWork = await on.spawn({ task: task('Stay at work.', { calls: [], answer: 'x'.repeat(400) }) });
  await held.arrived;
  held.release(3);
  runs = { ended, waiting, atWork };
});
afterAll(async () => {
  held?.releaseAll();
  await on?.close();
});

/** Every view, with what must be there before it is judged. */
const views: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  async list(page) {
    await page.getByRole('button', { name: /Tree of Look at every bird/ }).click();
    await page.getByRole('link', { name: /Look at teals/ }).waitFor();
  },
  async 'an ended run'(page) {
    await open(page, `#/runs/${runs.ended}`);
    await page.getByRole('region', { name: 'Timeline' }).getByText('web__lookup').first().waitFor();
    await page.getByRole('region', { name: 'Transcript' }).getByText('calls web__lookup').first().waitFor();
  },
  async 'a run that waits for approval'(page) {
    await open(page, `#/runs/${runs.waiting}`);
    await page
      .locator('.arguments')
      .getByText(/a-very-long-name/)
      .waitFor();
    await page.getByRole('meter', { name: 'Tokens' }).waitFor();
  },
  async 'a run at work'(page) {
    await open(page, `#/runs/${runs.atWork}`);
    await page.getByRole('heading', { name: /turn 1 .*writing/ }).waitFor();
  },
  async approvals(page) {
    await open(page, '#/approvals');
    await page
      .locator('.arguments')
      .getByText(/a-very-long-name/)
      .waitFor();
  },
  async pool(page) {
    await open(page, '#/pool');
    await page.getByRole('region', { name: /sim-0/ }).waitFor();
    await page.getByRole('link', { name: runs.atWork }).waitFor();
  },
  async 'the form that starts a run'(page) {
    await page.getByRole('button', { name: 'Spawn' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^Tools: all/).click();
    await dialog.getByText('Budget and limits').click();
    await dialog.getByText('System prompt').first().click();
  },
  async 'the question before a cancel'(page) {
    await open(page, `#/runs/${runs.atWork}`);
    await page.getByRole('button', { name: 'Cancel …' }).click();
    await page
      .getByRole('dialog')
      .getByLabel(/Reason/)
      .waitFor();
  },
};

async function open(page: Page, hash: string): Promise<void> {
  await page.goto(`${on.stack.pageUrl}${hash}`);
}

const phone = { viewport: { width: 380, height: 760 }, hasTouch: true };

describe.skipIf(!hasChromium)('the page is for everyone', () => {
  const names = Object.keys(views);
  it.each(names.flatMap((name) => [[name, 'light'] as const, [name, 'dark'] as const]))(
    'axe finds nothing serious in %s, %s',
    async (name, colorScheme) => {
      await on.look(
        '',
        async ({ page }) => {
          await views[name]?.(page);
          expect(await seriousFaults(page)).toEqual([]);
          await keepScreenshot(page, `${name.replaceAll(' ', '-')}-${colorScheme}`);
        },
        { colorScheme },
      );
    },
  );

  it.each(names)('%s fits a phone of 380 px, without scrolling to the side', async (name) => {
    await on.look(
      '',
      async ({ page }) => {
        await views[name]?.(page);
        const widths = await page.evaluate<number[]>(
          '[document.documentElement.scrollWidth, ...[...document.querySelectorAll("dialog")].map((one) => one.scrollWidth)]',
        );
        expect(Math.max(...widths)).toBeLessThanOrEqual(380);
        expect(await seriousFaults(page)).toEqual([]);
        await keepScreenshot(page, `${name.replaceAll(' ', '-')}-phone`);
      },
      phone,
    );
  });

  it('is used with the keyboard alone: to a run by arrow keys, into a dialog and out of it', async () => {
    await on.look('', async ({ page }) => {
      await page.getByRole('link', { name: /Look at every bird/ }).waitFor();
      const focused = async (): Promise<string> =>
        await page.evaluate('(document.activeElement?.textContent ?? "").trim()');
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Skip to content');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement?.id')).toBe('main');
      const isRow = 'document.activeElement?.classList.contains("row-link")';
      for (let steps = 0; steps < 30 && (await page.evaluate(isRow)) !== true; steps += 1) {
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('End');
      const last = await focused();
      await page.keyboard.press('ArrowUp');
      expect(await focused()).not.toBe(last);
      await page.keyboard.press('ArrowDown');
      expect(await focused()).toBe(last);
      expect(last).toContain('Look at every bird');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: /Look at every bird/ }).waitFor();
      const button = page.getByRole('button', { name: 'Spawn below …' });
      await button.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      for (let steps = 0; steps < 40; steps += 1) {
        await page.keyboard.press('Tab');
        const place: string = await page.evaluate(
          'document.activeElement === document.body || document.activeElement?.closest("dialog") !== null ? "dialog" : document.activeElement?.outerHTML ?? ""',
        );
        expect(place).toBe('dialog');
      }
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await focused()).toBe('Spawn below …');
    });
  });

  it('tells what is held, by class and caller, and lets it go as soon as there is room', async () => {
    const other = on.hold('Take the other place.');
    const second = await on.spawn({ task: task('Take the other place.', { calls: [], answer: 'x' }) });
    await other.arrived;
    const third = await on.spawn({
      task: task('Wait for a place.', { calls: [], answer: 'got it' }),
      serviceClass: 'batch',
    });
    await on.look('#/pool', async ({ page }) => {
      const held1 = page.getByRole('region', { name: 'Held turns' }).getByRole('row', { name: /batch/ });
      await held1.waitFor();
      expect(await held1.innerText()).toMatch(/^batch\s+\S+\s+1\s+/);
      const full = page.getByRole('meter', { name: 'In flight' }).first();
      expect(await full.getAttribute('aria-valuetext')).toBe('1 of 1');
      await page
        .getByText(/A turn is held: its places are taken/)
        .first()
        .waitFor();
      await keepScreenshot(page, 'held');
      other.releaseAll();
      await page.getByText('None: every turn has room.').waitFor();
    });
    await on.ended(second, third);
  });

  it('keeps the colours that are chosen', async () => {
    await on.look('', async ({ page }) => {
      const theme = page.getByRole('button', { name: /Colours/ });
      const ground = async (): Promise<string> =>
        await page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
      const asSystem = await ground();
      await theme.click();
      await theme.click();
      await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
      const dark = await ground();
      expect(dark).not.toBe(asSystem);
      await page.reload();
      await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
      expect(await ground()).toBe(dark);
    });
  });
});
