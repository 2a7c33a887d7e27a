/**
 * The page against a running stack, in a real Chromium, by what a person does: looks, clicks and types.
 * Engines and tools are in the test's hand; everything between them and the page is the real one.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openConfig } from '../../config/live-config.ts';
import { createMcpServer } from '../../mcp-server/create-mcp-server.ts';
import { ownPage } from '../../mcp-server/page/own-page.ts';
import { hasChromium, keepScreenshot } from './browser.ts';
import { PageStack, task } from './page-stack.ts';

const logger = pino({ level: 'silent' });
let on: PageStack;
beforeAll(async () => {
  if (hasChromium) on = await PageStack.start();
});
afterAll(async () => {
  await on?.close();
});

const deletesPage = (page: string, answer: string) =>
  task(`Tidy up ${page}.`, { calls: [{ tool: 'delete_page', arguments: { page } }], answer });

describe.skipIf(!hasChromium)('a person at the page', () => {
  it('finds a run in the list, and sees what it did and said when it is clicked', async () => {
    const handle = await on.spawn({
      task: task('Look at herons.', { calls: ['lookup'], answer: 'A heron.' }),
    });
    await on.ended(handle);
    await on.look('', async ({ page }) => {
      const row = page.getByRole('link', { name: /Look at herons/ });
      await row.getByText('Completed').waitFor();
      await keepScreenshot(page, 'list');
      await row.click();
      await page.getByRole('region', { name: 'Answer' }).getByText('A heron.').waitFor();
      const timeline = page.getByRole('region', { name: 'Timeline' });
      await timeline.getByText(/Model turn 1: ok, took .*to first byte/).waitFor();
      await timeline.getByText(/Tool call web__lookup: ok/).waitFor();
      await timeline.getByText(/away from the engine/).waitFor();
      const transcript = page.getByRole('region', { name: 'Transcript' });
      await transcript.getByText('calls web__lookup').waitFor();
      await transcript.getByText('A heron.', { exact: true }).waitFor();
      const row1 = page.getByRole('row', { name: /this run/ });
      expect(await row1.innerText()).toMatch(/^this run\s+2\s+1\s+0\s/);
      await keepScreenshot(page, 'run');
      await page.goBack();
      await page.getByRole('link', { name: /Look at herons/ }).waitFor();
    });
  });

  it('sees a run change and its text grow without touching anything', async () => {
    const held = on.hold('Wait for storks.');
    const answer = 'Storks nest on roofs all over the plain, and on old chimneys in the towns as well.';
    const handle = await on.spawn({ task: task('Wait for storks.', { calls: [], answer }) });
    await held.arrived;
    await on.look('', async ({ page }) => {
      const row = page.getByRole('link', { name: /Wait for storks/ });
      await row.getByText('Running').waitFor();
      await row.click();
      const transcript = page.getByRole('region', { name: 'Transcript' });
      await transcript.getByText('held, or reading its prompt').waitFor();
      held.release(6);
      await transcript.getByRole('heading', { name: /turn 1 .*writing/ }).waitFor();
      await transcript.getByText(/^Storks nest/).waitFor();
      expect(await transcript.locator('.live').innerText()).not.toContain('towns as well');
      await keepScreenshot(page, 'live');
      held.releaseAll();
      await page.getByRole('region', { name: 'Answer' }).getByText(answer).waitFor();
      await page.getByRole('link', { name: 'Runs' }).first().click();
      await row.getByText('Completed').waitFor();
    });
    await on.ended(handle);
  });

  it('sees a tree with own costs and those of all below, in the list and at the run', async () => {
    const root = await on.spawn({ task: task('Count all birds.', { calls: ['lookup'], answer: 'many' }) });
    const child = await on.spawn({ parent: root, task: task('Count ducks.', { calls: [], answer: 'two' }) });
    const grandchild = await on.spawn({
      parent: child,
      task: task('Count teals.', { calls: [], answer: 'one' }),
    });
    await on.ended(root, child, grandchild);
    await on.look('', async ({ page }) => {
      await page.getByRole('button', { name: /Tree of Count all birds/ }).click();
      const tree = page.getByRole('region', { name: 'Tree of runs' });
      const rows = tree.getByRole('row');
      await tree.getByRole('link', { name: /Count teals/ }).waitFor();
      expect(await rows.count()).toBe(4);
      expect(await rows.nth(1).innerText()).toMatch(/Count all birds[\s\S]*2\s*,? ?[\s\S]*Σ\s*4/);
      expect(await rows.nth(3).innerText()).toContain('Level 3');
      await tree.getByRole('link', { name: /Count ducks/ }).click();
      await page.getByRole('heading', { name: /Count ducks/ }).waitFor();
      await page.getByRole('row', { name: /with all below: 2 runs, 0 at work/ }).waitFor();
      await page
        .getByRole('region', { name: 'Timeline' })
        .getByText(/Child run Count teals/)
        .waitFor({ state: 'attached' });
      await keepScreenshot(page, 'tree');
    });
  });

  it('allows a call after having seen exactly what is asked', async () => {
    const handle = await on.spawn({ task: deletesPage('attic', 'The attic is gone.') });
    const deletions = (): number => on.stack.tools.calls().tools['delete_page']?.started ?? 0;
    const before = deletions();
    await on.look('#/approvals', async ({ page }) => {
      const card = page.getByRole('region', { name: /web__delete_page waits/ }).filter({ hasText: 'attic' });
      await card.getByText('"page": "attic"').waitFor();
      expect(deletions()).toBe(before);
      await keepScreenshot(page, 'approval');
      await card.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('web__delete_page: allowed').waitFor();
      await page.getByText('Nothing waits for you.').waitFor();
    });
    await on.ended(handle);
    expect(deletions()).toBe(before + 1);
  });

  it('declines a call at its run, and the run goes on without it', async () => {
    const handle = await on.spawn({ task: deletesPage('cellar', 'The cellar stays.') });
    await on.look(`#/runs/${handle}`, async ({ page }) => {
      const card = page.getByRole('region', { name: /web__delete_page waits/ });
      await card.getByText('"page": "cellar"').waitFor();
      await card.getByRole('button', { name: 'Decline' }).click();
      await page.getByText('web__delete_page: declined').waitFor();
      await page.getByRole('region', { name: 'Answer' }).getByText('The cellar stays.').waitFor();
      await page
        .getByText(/the user declined this tool call/)
        .first()
        .waitFor();
    });
    const { decidedApprovals } = await on.api<{ decidedApprovals: object[] }>(`runs/${handle}`);
    expect(decidedApprovals).toMatchObject([{ allow: false, by: 'api' }]);
  });

  it('is told that another was faster when two answer the same question', async () => {
    const handle = await on.spawn({ task: deletesPage('garage', 'Done.') });
    const looks = [
      await on.browser.open(`${on.stack.pageUrl}#/runs/${handle}`),
      await on.browser.open(`${on.stack.pageUrl}#/approvals`),
    ];
    const answers = ['Allow', 'Decline'];
    const cards = looks.map(({ page }) => page.getByRole('region', { name: /delete_page waits/ }));
    for (const card of cards) await card.getByText('"page": "garage"').waitFor();
    await Promise.all(
      cards.map(async (card, at) => await card.getByRole('button', { name: answers[at] ?? '' }).click()),
    );
    const told = await Promise.all(looks.map(async ({ page }) => await page.locator('.notice').innerText()));
    const late = told.filter((words) => words.includes('your answer changed nothing'));
    const first = told.filter((words) => /: (allowed|declined)/.test(words));
    expect([told, late.length, first.length]).toEqual([told, 1, 1]);
    const how = first[0]?.includes('allowed') === true ? 'allowed' : 'declined';
    expect(late[0]).toContain(`already ${how} by api`);
    for (const { close } of looks) await close();
    await on.ended(handle);
  });

  it('ends a run after being asked once more, with a reason that is kept', async () => {
    const held = on.hold('Stay awake.');
    const handle = await on.spawn({ task: task('Stay awake.', { calls: [], answer: 'never' }) });
    await held.arrived;
    await on.look(`#/runs/${handle}`, async ({ page }) => {
      await page.getByRole('button', { name: 'Cancel …' }).click();
      const dialog = page.getByRole('dialog', { name: 'Cancel' });
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect((await on.api<{ status: string }>(`runs/${handle}`)).status).toBe('Running');
      await page.getByRole('button', { name: 'Cancel …' }).click();
      await dialog.getByLabel(/Reason/).fill('no longer wanted');
      await dialog.getByRole('button', { name: 'End it' }).click();
      await page.getByText('1 run asked to end').waitFor();
      await page
        .getByRole('region', { name: 'Cancelled' })
        .getByText(/no longer wanted/)
        .waitFor();
      await page.getByRole('button', { name: 'Cancel …' }).waitFor({ state: 'detached' });
    });
    held.releaseAll();
  });

  it('ends a whole tree from a run within it', async () => {
    const holds = ['Root of it.', 'Leaf of it.'].map((words) => on.hold(words));
    const root = await on.spawn({ task: task('Root of it.', { calls: [], answer: 'never' }) });
    const leaf = await on.spawn({ parent: root, task: task('Leaf of it.', { calls: [], answer: 'never' }) });
    await Promise.all(holds.map(async ({ arrived }) => await arrived));
    await on.look(`#/runs/${leaf}`, async ({ page }) => {
      await page.getByRole('button', { name: 'Cancel …' }).click();
      await page.getByLabel(/whole tree/).check();
      await page.getByRole('button', { name: 'End it' }).click();
      await page.getByText('2 runs asked to end').waitFor();
    });
    await on.ended(root, leaf);
    for (const handle of [root, leaf]) {
      expect((await on.api<{ status: string }>(`runs/${handle}`)).status).toBe('Cancelled');
    }
    for (const held of holds) held.releaseAll();
  });

  it('starts a run by a form, with tools, class, budget and approvals of its own', async () => {
    await on.look('', async ({ page }) => {
      await page.getByRole('button', { name: 'Spawn' }).click();
      const dialog = page.getByRole('dialog', { name: 'Spawn a run' });
      await dialog.getByLabel('Task').fill(task('Ask the desk.', { calls: ['lookup'], answer: 'Asked.' }));
      await dialog.getByLabel('Class').selectOption('batch');
      await dialog.getByText(/^Tools: all/).click();
      await dialog.getByRole('button', { name: 'None' }).click();
      await dialog.getByRole('checkbox', { name: 'web__lookup', exact: true }).check();
      await dialog.getByLabel('Approve each call of web__lookup').check();
      await dialog.getByText('Budget and limits').click();
      await dialog.getByLabel('Tokens', { exact: true }).fill('50000');
      await dialog.getByLabel('Most tool calls').fill('2');
      await keepScreenshot(page, 'spawn');
      await dialog.getByRole('button', { name: 'Spawn' }).click();
      await page.getByRole('heading', { name: /Ask the desk/ }).waitFor();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByRole('region', { name: 'Answer' }).getByText('Asked.').waitFor();
      const meter = page.getByRole('meter', { name: 'Tokens' });
      expect(await meter.getAttribute('aria-valuetext')).toMatch(/ of 50k$/);
      const handle = page.url().split('/').at(-1) ?? '';
      expect(await on.api(`runs/${handle}`)).toMatchObject({
        status: 'Completed',
        class: 'batch',
        budget: { limits: { tokens: 50_000 } },
        decidedApprovals: [{ tool: 'web__lookup', allow: true }],
      });
    });
  });

  it('starts a run below another one, and is told in words what does not fit', async () => {
    const root = await on.spawn({ task: task('Above.', { calls: [], answer: 'up' }) });
    await on.ended(root);
    await on.look(
      `#/runs/${root}`,
      async ({ page }) => {
        await page.getByRole('button', { name: 'Spawn below …' }).click();
        const dialog = page.getByRole('dialog', { name: 'Spawn below this run' });
        await dialog.getByLabel('Task').fill(task('Beneath.', { calls: [], answer: 'down' }));
        await dialog.getByText('Budget and limits').click();
        await dialog.getByLabel('Tool calls', { exact: true }).fill('1');
        await dialog.getByText('System prompt').first().click();
        await dialog.getByLabel('System prompt').fill('x'.repeat(1_100_000));
        await dialog.getByRole('button', { name: 'Spawn' }).click();
        await dialog
          .getByRole('alert')
          .getByText(/at most 1048576 are taken/)
          .waitFor();
        await dialog.getByLabel('System prompt').fill('');
        await dialog.getByRole('button', { name: 'Spawn' }).click();
        await page.getByRole('heading', { name: /Beneath/ }).waitFor();
        await page.getByRole('link', { name: 'root' }).click();
        await page.getByRole('heading', { name: /Above/ }).waitFor();
        const tree = page.getByRole('region', { name: 'Tree', exact: true });
        await tree.getByText(/Beneath/).waitFor();
        expect(await tree.getByRole('row').count()).toBe(3);
      },
      // A refusal counts as an error for a browser.
      { expectErrors: true },
    );
  });

  it('searches and filters, and the address keeps it', async () => {
    const kept = await on.spawn({
      task: task('Find the bittern.', { calls: [], answer: 'x' }),
      serviceClass: 'batch',
    });
    await on.ended(kept);
    await on.look('', async ({ page }) => {
      const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem');
      await page.getByRole('link', { name: /Find the bittern/ }).waitFor();
      expect(await rows.count()).toBeGreaterThan(1);
      await page.getByLabel('Search in tasks').fill('BITTERN');
      await expect.poll(async () => await rows.count(), { timeout: 20_000 }).toBe(1);
      await page.reload();
      await page.getByRole('link', { name: /Find the bittern/ }).waitFor();
      expect(await rows.count()).toBe(1);
      await page.getByLabel('Class').selectOption('interactive');
      await page.getByText('No runs that fit').waitFor();
      await page.getByLabel('Class').selectOption('batch');
      await page.getByRole('checkbox', { name: 'Failed' }).check();
      await page.getByText('No runs that fit').waitFor();
      await page.getByRole('checkbox', { name: 'Completed' }).check();
      await page.getByRole('link', { name: /Find the bittern/ }).waitFor();
    });
  });

  it('is told at once when the configuration file is broken, and when it is mended', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fermata-page-config-'));
    const path = join(folder, 'fermata.yaml');
    const good = JSON.stringify({ pool: [{ id: 'sim', url: on.stack.engines[0]?.url, engine: 'vllm' }] });
    await writeFile(path, good);
    const configuration = await openConfig(path, { logger, everyMs: 50 });
    const { proxyUrl, schedulerUrl, taskQueue, temporal } = on.stack;
    const config = { host: '127.0.0.1', port: 0, temporal, taskQueue, proxyUrl, schedulerUrl };
    const server = await createMcpServer(config, { logger, page: ownPage, configuration });
    const { page, close } = await on.browser.open(server.url);
    try {
      await page.getByRole('list', { name: 'Runs' }).waitFor();
      const banner = page.getByRole('alert', { name: 'Configuration' });
      expect(await banner.count()).toBe(0);
      await writeFile(path, good.replace('"vllm"', '"steam"'));
      await banner.getByText(/pool\[0\]\.engine/).waitFor();
      expect(await banner.innerText()).toContain(path);
      await writeFile(path, good);
      await banner.waitFor({ state: 'detached' });
    } finally {
      await close();
      await server.close();
      configuration.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('sees how the pool stands: replicas, what is held by class and caller, and what is at work', async () => {
    await on.look('#/pool', async ({ page }) => {
      const replica = page.getByRole('region', { name: /sim-0/ });
      await replica.getByText('healthy', { exact: true }).waitFor();
      await replica.getByText('Residency').waitFor();
      await page.getByText('None: every turn has room.').waitFor();
      expect(await page.getByRole('region', { name: /^sim-/ }).count()).toBe(2);
    });
  });
});
