/** The metrics of a real proxy, as a scraper sees them. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chatBody, chatPath, chunk, post, sse, startProxy, startStack, until } from './stack.ts';

const patient = { timeout: 10_000 };

interface Scrape {
  readonly names: readonly string[];
  readonly series: readonly string[];
  value(series: string): number;
}

async function scrape(proxy: { readonly url: string }): Promise<Scrape> {
  const response = await fetch(`${proxy.url}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/plain');
  const lines = (await response.text()).split('\n');
  const samples = new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
  return {
    names: lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2] ?? ''),
    series: [...samples.keys()],
    value: (series) => samples.get(series) ?? Number.NaN,
  };
}

const answer = {
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }],
  usage: {
    prompt_tokens: 5,
    completion_tokens: 2,
    total_tokens: 7,
    prompt_tokens_details: { cached_tokens: 3 },
  },
};

describe('what a scraper sees', () => {
  it('is documented, and tells of the process with its event-loop lag', async () => {
    const { proxy } = await startStack();
    const { names, value } = await scrape(proxy);
    const reference = readFileSync(
      resolve(import.meta.dirname, '..', '..', 'docs', 'reference', 'metrics.md'),
      'utf8',
    );
    const undocumented = names.filter(
      (name) => !reference.includes(`| \`${name}\` |`) && !/^(process|nodejs)_/.test(name),
    );
    expect(undocumented).toEqual([]);
    expect(names).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(new Set(names).size).toBe(names.length);
  });

  it('tells the proxies of one process apart, and of their process the same', async () => {
    const { proxy, scheduler } = await startStack();
    const { proxy: other } = await startProxy(scheduler.url);
    await (await fetch(`${proxy.url}/v1/nothing`)).text();
    await until(() => scheduler.of('resync').length === 2, 'both are linked');
    const notFound = 'fermata_proxy_requests_total{api="unknown",status="404"}';
    expect((await scrape(proxy)).value(notFound)).toBe(1);
    expect((await scrape(other)).value(notFound)).toBeNaN();
    expect((await scrape(other)).names).toContain('process_cpu_seconds_total');
  });

  it('counts tokens by kind and the entries of the bounded memories', async () => {
    const { proxy, engine } = await startStack({ rateLimits: { me: { requestsPerMinute: 9 } } });
    engine.answer((call) => call.json(200, answer));
    const headers = { 'x-fermata-caller': 'me', 'x-fermata-class': 'batch' };
    await post(proxy, chatPath, chatBody(), headers).head;
    await expect
      .poll(
        async () => (await scrape(proxy)).value('fermata_proxy_requests_total{api="chat",status="200"}'),
        patient,
      )
      .toBe(1);
    const { value } = await scrape(proxy);
    expect(value('fermata_proxy_tokens_total{class="batch",kind="prompt"}')).toBe(5);
    expect(value('fermata_proxy_tokens_total{class="batch",kind="cached"}')).toBe(3);
    expect(value('fermata_proxy_tokens_total{class="batch",kind="completion"}')).toBe(2);
    expect(value('fermata_proxy_memory_entries{memory="runs"}')).toBe(1);
    expect(value('fermata_proxy_memory_entries{memory="conversations"}')).toBe(1);
    expect(value('fermata_proxy_memory_entries{memory="callers"}')).toBe(1);
    expect(value('fermata_proxy_redis_up')).toBeNaN();
  });
});

it('has no more series after many models, callers, runs and addresses that clients made up', async () => {
  const { proxy, engine } = await startStack({ rateLimits: { '*': { requestsPerMinute: 1 } } });
  engine.answer((call) => call.json(200, answer));
  const makeUp = async (word: string): Promise<void> => {
    const headers = { 'x-fermata-caller': word, 'x-fermata-run-id': word };
    const send = async (body: string): Promise<number | undefined> =>
      (await post(proxy, chatPath, body, headers).head).statusCode;
    expect(await send(chatBody({ model: word }))).toBe(404);
    expect(await send(chatBody())).toBe(429);
    await (await fetch(`${proxy.url}/v1/${word}`)).text();
    await (await fetch(`${proxy.url}/v1/runs/${word}`, { method: 'DELETE' })).text();
  };
  await makeUp('first');
  const own = async (): Promise<readonly string[]> =>
    (await scrape(proxy)).series.filter((series) => series.startsWith('fermata_')).toSorted();
  await expect.poll(async () => (await own()).length, patient).toBeGreaterThan(20);
  const before = await own();
  for (let number = 0; number < 40; number++) await makeUp(`made-up-${number}`);
  expect(await own()).toEqual(before);
});

it('is told while many streams run', async () => {
  const { proxy, engine } = await startStack();
  const piece = sse(chunk({ content: 'x'.repeat(200) }));
  let going = true;
  engine.answer((call) => {
    call.head(200);
    const pump = (): void => {
      if (going && !call.aborted()) {
        call.write(piece);
        setTimeout(pump, 20);
        return;
      }
      call.write(sse(chunk({}, 'stop'), '[DONE]'));
      call.end();
    };
    pump();
  });
  const clients = Array.from({ length: 60 }, () => post(proxy, chatPath, chatBody({ stream: true })));
  await Promise.all(clients.map(async (client) => await client.head));
  for (let times = 0; times < 10; times++) {
    expect((await scrape(proxy)).value('fermata_proxy_active')).toBe(60);
  }
  going = false;
  await until(() => clients.every((client) => client.ended() === 'whole'), 'all streams have ended');
  await expect.poll(async () => (await scrape(proxy)).value('fermata_proxy_active'), patient).toBe(0);
});
