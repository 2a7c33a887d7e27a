/** The page where tokens are set: who may see what, and where the token is kept. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createAccess, type Access } from '../../auth/access.ts';
import { ownPage } from '../../mcp-server/page/own-page.ts';
import { createMcpServer, type McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { startStack, type Stack } from '../mcp-server/stack.ts';
import { seriousFaults } from './axe.ts';
import { hasChromium, TestBrowser } from './browser.ts';

const logger = pino({ level: 'silent' });
const token = 'the-token-of-the-services-0123';
const tokens = { ann: 'token-of-ann-0123456789', bob: 'token-of-bob-0123456789' };
let folder = '';
let access: Access;
let stack: Stack;
let server: McpServerHandle;
let browser: TestBrowser;

beforeAll(async () => {
  if (!hasChromium) return;
  folder = await mkdtemp(join(tmpdir(), 'fermata-page-tokens-'));
  const tokensFile = join(folder, 'tokens.yaml');
  const named = Object.entries(tokens).map(([name, text]) => ({
    name,
    sha256: createHash('sha256').update(text).digest('hex'),
  }));
  await writeFile(tokensFile, JSON.stringify(named), { mode: 0o600 });
  access = await createAccess({ token, tokensFile }, { logger });
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
    access,
  });
  server = await createMcpServer(stack.config, { logger, access, page: ownPage });
  browser = await TestBrowser.launch();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await stack?.close();
  access?.close();
  await rm(folder, { recursive: true, force: true });
});

async function spawn(words: string, as: string): Promise<void> {
  await start(`${words} ${stack.saying('done')}`, as);
}

async function start(task: string, as: string): Promise<string> {
  const response = await fetch(`${server.url}/api/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${as}` },
    body: JSON.stringify({ task }),
  });
  if (response.status !== 201) throw new Error(await response.text());
  return ((await response.json()) as { handle: string }).handle;
}

describe.skipIf(!hasChromium)('the page where a token is asked for', () => {
  it('asks for it, keeps it in its tab alone, and shows what that token may see, live', async () => {
    await spawn('Of Ann.', tokens.ann);
    await spawn('Of Bob.', tokens.bob);
    const look = await browser.open(server.url);
    const { page } = look;
    await page.getByText('This server asks for a token.').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByLabel('Token').fill('a-wrong-token-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The server does not know this token.').waitFor();
    await page.getByLabel('Token').fill(tokens.ann);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: /Of Ann/ }).waitFor();
    expect(await page.getByText(/Of Bob/).count()).toBe(0);
    await spawn('Later of Ann.', tokens.ann);
    await page.getByRole('link', { name: /Later of Ann/ }).waitFor();
    await page.reload();
    await page
      .getByRole('link', { name: /Of Ann/ })
      .first()
      .waitFor();
    const kept = await page.evaluate<string[]>(
      '[sessionStorage.getItem("fermata-token"), JSON.stringify(localStorage), document.cookie, location.href]',
    );
    expect(kept[0]).toBe(tokens.ann);
    expect(kept.slice(1).join(' ')).not.toContain(tokens.ann);
    expect(look.requests.filter((url) => url.includes(tokens.ann))).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('This server asks for a token.').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await look.close();
  });

  it('shows everything to the token of the services', async () => {
    await spawn('Seen by all of Bob.', tokens.bob);
    const look = await browser.open(server.url);
    await look.page.getByLabel('Token').fill(token);
    await look.page.keyboard.press('Enter');
    await look.page.getByRole('link', { name: /Seen by all of Bob/ }).waitFor();
    expect(await look.page.getByRole('link', { name: /Of Ann/ }).count()).toBeGreaterThan(0);
    await look.close();
  });

  it('shows a turn at work to its owner, though its worker opens to the services only', async () => {
    const held = stack.holding('the end');
    const handle = await start(held.task, tokens.ann);
    await held.held;
    const { page, close } = await browser.open(`${server.url}/#/runs/${handle}`);
    await page.getByLabel('Token').fill(tokens.ann);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /Model, turn 2/ }).waitFor();
    held.release();
    await page.getByRole('region', { name: 'Answer' }).getByText('the end').waitFor();
    expect(await page.getByRole('heading', { name: /Model, turn 2/ }).count()).toBe(0);
    await close();
  });
});
