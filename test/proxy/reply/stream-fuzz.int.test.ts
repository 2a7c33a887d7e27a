/** Some hundreds of the random streams through a real proxy and sockets: what arrives is what was sent. */
import { describe, expect, it } from 'vitest';
import { post, replica, startStack, until } from '../stack.ts';
import type { FuzzApi } from './random-events.ts';
import { randomStream } from './random-streams.ts';
import { isCut, readWhole, wholeEvents, withoutUsage } from './reference-reader.ts';

const paths: Record<FuzzApi, string> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
};
const body = JSON.stringify({ model: 'm-test', messages: [], prompt: '', input: '', stream: true });
const streams = 400;
const atOnce = 20;
/** Seeds beyond those of the pure fuzz, so that these streams are others. */
const firstSeed = 100_000;
/** A piece of its own for every byte is the pure fuzz's business: sockets join them anyway. */
const mostPieces = 200;

describe('random streams through a real proxy', () => {
  it(
    'arrive byte for byte, minus the usage that was not asked for, whole or cut',
    { timeout: 120_000 },
    async () => {
      const { proxy, engine } = await startStack({
        pool: ([only]) => [replica('e', only?.url ?? '', { apis: Object.keys(paths) })],
      });
      engine.answer((call) => void send(call, Number(call.headers['x-seed'])));
      const faults: string[] = [];
      for (let seed = firstSeed; seed < firstSeed + streams; seed += atOnce) {
        const seeds = Array.from({ length: atOnce }, (_, index) => seed + index);
        faults.push(...(await Promise.all(seeds.map(async (each) => await faultsOf(proxy, each)))).flat());
      }
      expect(faults.slice(0, 5)).toEqual([]);
      expect(engine.calls).toHaveLength(streams);
    },
  );
});

type Engine = Awaited<ReturnType<typeof startStack>>['engine'];
type Call = Awaited<ReturnType<Engine['next']>>;

/** Leaves the sockets time to send each piece by itself. */
async function send(call: Call, seed: number): Promise<void> {
  const { pieces, ending } = randomStream(seed);
  call.head(200);
  const apart = pieces.length <= mostPieces;
  for (const piece of pieces) {
    call.write(piece);
    if (apart) await new Promise((resolve) => setImmediate(resolve));
  }
  if (ending === 'end') call.end();
  else call.reset();
}

async function faultsOf(proxy: { readonly port: number }, seed: number): Promise<string[]> {
  const { api, bytes, ending } = randomStream(seed);
  const client = post(proxy, paths[api], body, { 'x-seed': String(seed) });
  await client.head.catch(() => null);
  await until(() => client.ended() !== null, `the stream of seed ${seed} has ended`, 60_000);
  const seen = Buffer.concat(client.chunks);
  const events = wholeEvents(bytes);
  const withholds = api === 'chat' || api === 'completions';
  const wanted = withholds ? withoutUsage(bytes, events) : bytes;
  // A reset may throw away what had not been read: then what came is the beginning.
  const whole = ending === 'end' ? wanted : wanted.subarray(0, seen.length);
  const end = ending === 'error' || isCut(readWhole(api, events)) ? 'cut' : 'whole';
  return [
    ...(seen.equals(whole) ? [] : [`seed ${seed}, ${api}: ${seen.length} bytes came, not ${wanted.length}`]),
    ...(client.ended() === end ? [] : [`seed ${seed}, ${api}: it ended ${client.ended()}, not ${end}`]),
  ];
}
