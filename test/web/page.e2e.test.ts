/**
 * The page against a running stack, in a real Chromium, by what a person does: looks, clicks and types.
 * Engines and tools are in the test's hand; everything between them and the page is the real one.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestStack, type TestStack } from '../stack/start-test-stack.ts';
import { hasChromium, keepScreenshot, TestBrowser, type Look } from './browser.ts';

let stack: TestStack;
let browser: TestBrowser;
beforeAll(async () => {
  if (!hasChromium) return;
  [stack, browser] = await Promise.all([startTestStack(), TestBrowser.launch()]);
});
afterAll(async () => {
  await browser?.close();
  await stack?.close();
});

function task(words: string, directive: Record<string, unknown>): string {
  return `${words} [[sim ${JSON.stringify(directive)}]]`;
}

async function spawn(args: Record<string, unknown>): Promise<string> {
  const { handle } = await stack.client.call('spawn', args);
  return String(handle);
}

async function looking(at: string, use: (look: Look) => Promise<void>): Promise<void> {
  const look = await browser.open(`${stack.pageUrl}${at}`);
  try {
    await use(look);
    expect(look.errors).toEqual([]);
  } finally {
    await look.close();
  }
}

describe.skipIf(!hasChromium)('the page', () => {
  it('lists a run, and shows what it did and said when it is clicked', async () => {
    const handle = await spawn({ task: task('Look at herons.', { calls: ['lookup'], answer: 'A heron.' }) });
    await stack.client.call('await', { handles: [handle], timeoutSeconds: 60 });
    await looking('', async ({ page }) => {
      const row = page.getByRole('link', { name: /Look at herons/ });
      await row.getByText('Completed').waitFor();
      await keepScreenshot(page, 'list');
      await row.click();
      await page.getByRole('region', { name: 'Answer' }).getByText('A heron.').waitFor();
      const timeline = page.getByRole('region', { name: 'Timeline' });
      await timeline.getByText(/Model turn 1: ok, took .*generation/).waitFor();
      await timeline.getByText(/Tool call web__lookup: ok/).waitFor();
      await page.getByRole('region', { name: 'Transcript' }).getByText('calls web__lookup').waitFor();
      await keepScreenshot(page, 'run');
    });
  });
});
