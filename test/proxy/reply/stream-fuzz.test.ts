/**
 * 20,000 random streams through the proxy's forwarding path: the client sees the engine's bytes, minus exactly
 * the usage chunk that it did not ask for, and what the proxy read from its copy is what a reference reader
 * finds in the whole text.
 */
import { inspect, isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ReplyFacts } from '../../../proxy/reply/reply-facts.ts';
import { forwardStream, type Forwarded } from './forwarding-path.ts';
import { randomStream, type RandomStream } from './random-streams.ts';
import { isCut, readWhole, wholeEvents, withoutUsage, type WholeEvent } from './reference-reader.ts';

const streams = 20_000;
const batches = 10;
/** Faults beyond these are more of the same. */
const shownFaults = 3;

/** What happened often enough to be worth a test of its own kind. */
interface Tally {
  withheld: number;
  cut: number;
  whole: number;
  tooLarge: number;
  usage: number;
  calls: number;
}

/** What was wrong with the stream of a seed, in words. */
async function faultsOf(seed: number, tally: Tally): Promise<string[]> {
  const stream = randomStream(seed);
  const asksItself = seed % 8 >= 4;
  const forwarded = await forwardStream(stream, asksItself);
  const events = wholeEvents(stream.bytes);
  const withholds = !asksItself && (stream.api === 'chat' || stream.api === 'completions');
  const wanted = withholds ? withoutUsage(stream.bytes, events) : stream.bytes;
  const least = withholds && stream.ending === 'error' ? leastOf(stream, events) : wanted;
  const { seen } = forwarded;
  const faults =
    seen.length >= least.length && seen.equals(wanted.subarray(0, seen.length))
      ? []
      : [differing('bytes', seen.toString('latin1'), wanted.toString('latin1'))];
  tally.withheld += Number(wanted.length < stream.bytes.length);
  if (stream.ending === 'end') {
    const reading = readWhole(stream.api, events);
    const kind = isCut(reading) ? 'broken' : 'passed';
    if (!isDeepStrictEqual({ ...readOf(forwarded) }, reading)) {
      faults.push(differing('what was read', readOf(forwarded), reading));
    }
    if (forwarded.result.kind !== kind) faults.push(differing('its end', forwarded.result.kind, kind));
    tally.cut += Number(isCut(reading));
    tally.whole += Number(!isCut(reading));
    tally.tooLarge += Number(!reading.complete);
    tally.usage += Number(reading.usage !== null);
    tally.calls += Number(reading.toolCallIds.size > 0);
  }
  return faults.map((fault) => `seed ${seed}, ${stream.api}: ${fault}`);
}

/** Of a connection that broke the client gets all that came, but for a last event that was not whole. */
function leastOf({ bytes }: RandomStream, events: readonly WholeEvent[]): Buffer {
  const last = events.at(-1);
  if (last === undefined || last.terminated) return withoutUsage(bytes, events);
  return withoutUsage(bytes.subarray(0, last.start), events.slice(0, -1));
}

function differing(what: string, actual: unknown, wanted: unknown): string {
  const show = (value: unknown): string => inspect(value, { maxStringLength: 2_000 });
  return `${what} is ${show(actual)} instead of ${show(wanted)}`;
}

function readOf({ result }: Forwarded): ReplyFacts {
  if (result.kind === 'passed' || result.kind === 'broken') return result.facts;
  throw new Error(`the stream ended as ${result.kind}`);
}

describe('random streams, however they are cut, spoiled or ended', () => {
  const tally: Tally = { withheld: 0, cut: 0, whole: 0, tooLarge: 0, usage: 0, calls: 0 };
  const size = streams / batches;

  it.each(Array.from({ length: batches }, (_, batch) => batch * size))(
    'reach the client byte for byte and are read as the reference reads them, from seed %d',
    { timeout: 60_000 },
    async (first) => {
      const faults: string[] = [];
      for (let seed = first; seed < first + size && faults.length < shownFaults; seed++) {
        faults.push(...(await faultsOf(seed, tally)));
      }
      expect(faults).toEqual([]);
    },
  );

  it('are of every kind, each many times', () => {
    expect(tally.withheld).toBeGreaterThan(1_000);
    expect(tally.cut).toBeGreaterThan(1_000);
    expect(tally.whole).toBeGreaterThan(5_000);
    expect(tally.tooLarge).toBeGreaterThanOrEqual(2);
    expect(tally.usage).toBeGreaterThan(5_000);
    expect(tally.calls).toBeGreaterThan(1_000);
  });
});
