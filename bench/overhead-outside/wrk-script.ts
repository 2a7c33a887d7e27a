/**
 * The script by which wrk sends the requests of the overhead bench, and what it prints at its end. Each request
 * is a conversation of its own, as there. Pure.
 */
import { z } from 'zod';
import { bodyMaker, nameBytes } from '../overhead/request-bodies.ts';

export interface WrkOrder {
  readonly url: string;
  readonly model: string;
  readonly stream: boolean;
  readonly maxTokens: number;
  readonly connections: number;
  /** Requests a second over all connections, at random; null: each connection asks again at once. */
  readonly ratePerSecond: number | null;
  readonly seconds: number;
  /** Names its conversations; another one for each window. */
  readonly window: number;
}

/** In Lua, for LuaJIT. wrk waits whole milliseconds between a reply and the next request of a connection. */
export function wrkScript({
  model,
  stream,
  maxTokens,
  connections,
  ratePerSecond,
  window,
}: WrkOrder): string {
  const name = '@'.repeat(nameBytes);
  const [before = '', after = ''] = bodyMaker({ model, stream, maxTokens })(name)
    .toString('latin1')
    .split(name);
  const meanDelayMs = ratePerSecond === null ? 0 : (connections * 1_000) / ratePerSecond;
  return `local before = ${luaText(before)}
local after = ${luaText(after)}
local headers = { ["content-type"] = "application/json", ["authorization"] = "Bearer sk-bench" }
local sent = 0
init = function() math.randomseed(${window}) end
request = function()
  sent = sent + 1
  local name = string.format("%0${nameBytes}d", ${window} * 10000000 + sent)
  return wrk.format("POST", "/v1/chat/completions", headers, before .. name .. after)
end
${
  ratePerSecond === null
    ? ''
    : `delay = function() return math.floor(-math.log(1 - math.random()) * ${meanDelayMs} + 0.5) end
`
}done = function(summary, latency, requests)
  local e = summary.errors
  print(string.format(
    '{"requests": %d, "durationUs": %d, "p50Us": %d, "p90Us": %d, "p99Us": %d, "failed": %d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

/** As a long string of Lua, whose brackets do not occur in JSON that is made here. */
function luaText(text: string): string {
  if (text.includes(']==]')) throw new RangeError('the body has the brackets that are to enclose it');
  return `[==[${text}]==]`;
}

const reportSchema = z.strictObject({
  requests: z.int(),
  durationUs: z.number(),
  p50Us: z.number(),
  p90Us: z.number(),
  p99Us: z.number(),
  failed: z.int(),
});

export interface WrkReport {
  readonly requests: number;
  readonly failed: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
}

/** @throws Error when its last line is not the report of {@link wrkScript}. */
export function readWrkReport(output: string): WrkReport {
  const line = output.split('\n').findLast((one) => one.startsWith('{"requests"'));
  if (line === undefined) throw new Error(`wrk printed no report: ${output.trim().slice(-300)}`);
  const { requests, failed, durationUs, p50Us, p90Us, p99Us } = reportSchema.parse(JSON.parse(line));
  return {
    requests,
    failed,
    requestsPerSecond: requests / (durationUs / 1_000_000),
    p50Ms: p50Us / 1_000,
    p90Ms: p90Us / 1_000,
    p99Ms: p99Us / 1_000,
  };
}
