/**
 * Takes the pictures of the page that the README shows, from a stack of simulated engines that is at work:
 * `npx tsx scripts/take-page-screenshots.ts`. Needs a Chromium; what it starts is gone at its end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { chromium, type Page } from 'playwright-core';
import { startStack, type Stack } from '../cli/embedded-stack.ts';
import { ensureChromium } from '../cli/setup/chromium.ts';
import { parseSettings } from '../contracts/settings.ts';

const root = resolve(import.meta.dirname, '..');
const images = join(root, 'docs', 'images');
const progress = (line: string): boolean => process.stderr.write(`${line}\n`);

interface Wanted {
  readonly words: string;
  readonly directive: object;
  readonly caller?: string;
  readonly more?: object;
}

const lookups = (many: number): string[] => Array.from({ length: many }, () => 'lookup');
const long = 'A shallow lake, fed by two streams, with reeds along its whole northern shore. '.repeat(12);

const plain: readonly Wanted[] = [
  {
    words: 'Summarise yesterday\u2019s incident reports',
    directive: { calls: lookups(2), answer: long },
    caller: 'ops',
  },
  {
    words: 'Find the three cheapest train connections to Turin',
    directive: { calls: lookups(3), answer: 'By Basel, by Munich, by Lyon.' },
    caller: 'travel',
  },
  {
    words: 'Label 40 support tickets by product',
    directive: { calls: [], answer: long },
    caller: 'batch-farm',
    more: { serviceClass: 'batch' },
  },
  {
    words: 'Check the links of the handbook',
    directive: { calls: ['fail', 'lookup'], answer: 'One of them leads nowhere.' },
    caller: 'docs',
  },
  {
    words: 'Retire the old landing page',
    directive: { calls: [{ tool: 'delete_page', arguments: { page: 'landing-2019' } }], answer: 'Done.' },
    caller: 'web-team',
    more: { budgetTokens: 20_000 },
  },
];

async function spawn(
  stack: Stack,
  { words, directive, caller = 'research', more = {} }: Wanted,
): Promise<string> {
  const response = await fetch(`${stack.pageUrl}api/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-fermata-caller': caller },
    body: JSON.stringify({ task: `${words}\n[[sim ${JSON.stringify(directive)}]]`, maxTokens: 0, ...more }),
  });
  const body = (await response.json()) as { handle?: string };
  if (body.handle === undefined) throw new Error(JSON.stringify(body));
  return body.handle;
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(images, name) });
}

async function fill(stack: Stack): Promise<string> {
  for (const wanted of plain) {
    await spawn(stack, wanted);
    await delay(1_500);
  }
  const parent = await spawn(stack, {
    words: 'Compare heat pumps for a house of 1962',
    directive: { calls: ['lookup', 'deep_search', 'lookup', 'deep_search'], answer: long.repeat(2) },
    more: { budgetTokens: 60_000, budgetToolCalls: 40 },
  });
  await delay(1_500);
  for (const words of [
    'Air to water: prices and noise',
    'Ground source: drilling permits',
    'Subsidies this year',
  ]) {
    const directive = { calls: ['lookup', 'deep_search'], answer: long };
    await spawn(stack, { words, directive, more: { parent } });
  }
  await delay(5_000);
  return parent;
}

async function main(): Promise<void> {
  const stateDir = await mkdtemp(join(tmpdir(), 'fermata-pictures-'));
  const toolsDir = join(root, '.fermata');
  const anyPort = ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'].map(
    (name) => [`FERMATA_${name}_PORT`, '0'] as const,
  );
  const stack = await startStack({
    settings: parseSettings({ ...Object.fromEntries(anyPort), FERMATA_STATE_DIR: stateDir }),
    toolsDir,
    environment: process.env,
    temporal: null,
    config: null,
    engine: 'simulated',
    separate: false,
    logger: pino({ level: 'silent' }),
    progress,
  });
  const executablePath = await ensureChromium(toolsDir, process.env, progress);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const handle = await fill(stack);
    const context = await browser.newContext({ viewport: { width: 1180, height: 760 }, locale: 'en-GB' });
    const page = await context.newPage();
    await page.goto(stack.pageUrl);
    await page.getByRole('button', { name: /Tree of Compare heat pumps/ }).click();
    await page.getByRole('link', { name: /Subsidies this year/ }).waitFor();
    await shoot(page, 'page-runs.png');
    const dark = await browser.newContext({
      viewport: { width: 1180, height: 900 },
      colorScheme: 'dark',
      locale: 'en-GB',
    });
    const run = await dark.newPage();
    await run.goto(`${stack.pageUrl}#/runs/${handle}`);
    await run
      .getByRole('region', { name: 'Timeline' })
      .getByText(/^turn 3/)
      .first()
      .waitFor();
    await shoot(run, 'page-run.png');
  } finally {
    await browser.close();
    await stack.close();
    await rm(stateDir, { recursive: true, force: true });
  }
}

await main();
