/**
 * A thousand runs on the page: a real Temporal server of its own holds them, a real mcp-server lists them,
 * and while they are read, drawn and scrolled the page never stands still. No worker is there, so all of
 * them stay at work; some end meanwhile, so that changes are told as well.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTemporalServer, type TemporalServer } from '../../cli/temporal-server.ts';
import { createMcpServer, type McpServerHandle } from '../../mcp-server/create-mcp-server.ts';
import { ownPage } from '../../mcp-server/page/own-page.ts';
import { hasChromium, keepScreenshot, showsWithinMs, TestBrowser } from './browser.ts';

const many = 1_000;
const longestFrameMs = 200;
/**
 * `npm run test:web` holds the page to it. `npm test` runs other tests beside this one, on a machine of any
 * speed, and looks at all but the time.
 */
const isTimed = process.env['TEST_FRAMES'] === '1';
/** What one try lost to the rest of the machine, another has not. */
const tries = isTimed ? 4 : 1;

let temporal: TemporalServer;
let connection: Connection;
let server: McpServerHandle;
let browser: TestBrowser;
let handles: string[] = [];

beforeAll(async () => {
  if (!hasChromium) return;
  temporal = await startTemporalServer({
    binary: inject('temporalBinary'),
    host: '127.0.0.1',
    port: 0,
    uiPort: 0,
    databaseFile: null,
  });
  connection = await Connection.connect({ address: temporal.address });
  server = await createMcpServer(
    {
      host: '127.0.0.1',
      port: 0,
      temporal: { address: temporal.address, namespace: 'default' },
      temporalUiUrl: temporal.uiUrl,
      taskQueue: `many-${randomUUID()}`,
      // Neither is there: a run is stored all the same.
      proxyUrl: 'http://127.0.0.1:1',
      schedulerUrl: null,
      maxRunning: many * 2,
    },
    { logger: pino({ level: 'silent' }), page: ownPage },
  );
  handles = [];
  for (let at = 0; at < many; at += 50) {
    handles.push(
      ...(await Promise.all(Array.from({ length: 50 }, async (_, index) => await spawn(at + index)))),
    );
  }
  browser = await TestBrowser.launch();
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await connection?.close();
  await temporal?.close();
});

async function spawn(index: number): Promise<string> {
  const response = await fetch(`${server.url}/api/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      task: `Number ${index}: look at what the tide has left on the beach between the two piers.`,
      serviceClass: index % 3 === 0 ? 'batch' : 'interactive',
    }),
  });
  const body = (await response.json()) as { handle?: string };
  if (body.handle === undefined) throw new Error(JSON.stringify(body));
  return body.handle;
}

/**
 * In the page from its first moment on: the longest time between two frames, and the longest that its own
 * scripts and layout took at a time. Nothing here looks at the rows in any other way while that is
 * measured: a test's own search through a thousand of them would be the longest of all.
 */
const watch = `
  window.frames = { longest: 0, count: 0, at: 0, task: 0 };
  let last = performance.now();
  const frame = (now) => {
    const ms = now - last;
    last = now;
    window.frames.count += 1;
    if (ms > window.frames.longest) { window.frames.longest = ms; window.frames.at = now; }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.frames.task = Math.max(window.frames.task, duration);
  }).observe({ type: 'longtask', buffered: true });
`;

/** Of one look; milliseconds. */
interface ScrollSeen {
  readonly longest: number;
  /** When it was, from the start of the page. */
  readonly at: number;
  /** The longest task of the page; 0: none took 50 ms. */
  readonly task: number;
  readonly count: number;
}

const afterTwoFrames = (result: string): string =>
  `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(${result}))))`;

async function listAndScroll(end: readonly string[]): Promise<ScrollSeen> {
  const client = new Client({ connection });
  const look = await browser.open('about:blank');
  const { page } = look;
  const until = async (what: string, condition: string, act: () => Promise<void>): Promise<void> => {
    const deadline = Date.now() + showsWithinMs * 2;
    while ((await page.evaluate(afterTwoFrames(condition))) !== true) {
      if (Date.now() > deadline) throw new Error(`not within ${showsWithinMs * 2} ms: ${what}`);
      await act();
    }
  };
  try {
    await page.addInitScript(watch);
    await page.goto(server.url);
    const rows = 'document.querySelectorAll("ul.rows > li").length';
    await until('the first rows', `${rows} > 0`, async () => {});
    await page.mouse.move(600, 500);
    const ending = Promise.all(
      end.map(async (handle) => await client.workflow.getHandle(handle).terminate()),
    );
    await until('all rows', `${rows} >= ${many}`, async () => await page.mouse.wheel(0, 4_000));
    await ending;
    await until('runs that have ended', 'document.querySelector(".status.Failed") !== null', async () => {
      await page.mouse.wheel(0, -4_000);
    });
    const seen = await page.evaluate<ScrollSeen>('window.frames');
    await keepScreenshot(page, 'many-runs');
    expect(look.errors).toEqual([]);
    return seen;
  } finally {
    await look.close();
  }
}

describe.skipIf(!hasChromium)('a thousand runs', () => {
  it('are listed and scrolled through while some end, timed with no frame over 200 ms', async () => {
    const seen: string[] = [];
    let best = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < tries && best > longestFrameMs; attempt += 1) {
      const { longest, at, task, count } = await listAndScroll(
        handles.slice(attempt * 20, attempt * 20 + 20),
      );
      expect(count).toBeGreaterThan(20);
      seen.push(
        `${Math.round(longest)} ms (after ${Math.round(at)} ms; longest task ${Math.round(task)} ms)`,
      );
      best = Math.min(best, longest);
    }
    process.stderr.write(`longest frame with ${many} runs: ${seen.join(', ')}\n`);
    expect(best).toBeLessThanOrEqual(isTimed ? longestFrameMs : showsWithinMs);
  }, 300_000);

  it('lead to Temporal\u2019s own page of a run', async () => {
    const look = await browser.open(`${server.url}/#/runs/${handles.at(-1) ?? ''}`);
    const link = look.page.getByRole('link', { name: /Open in Temporal/ });
    const href = (await link.getAttribute('href')) ?? '';
    expect(href).toBe(`${temporal.uiUrl}/namespaces/default/workflows/${handles.at(-1)}`);
    expect((await fetch(href)).status).toBe(200);
    await look.close();
  });
});
