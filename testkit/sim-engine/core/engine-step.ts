/**
 * One step of continuous batching: decoding requests first, then unfinished prefills in order of
 * admission, then new admissions, within a budget of tokens. A request is admitted when its whole known
 * text fits into memory; when a decoding request finds no free block, the one admitted last is preempted
 * and computed again later. A preempting step admits nobody.
 */
import { countUnused, findPrefix, release, remember, share, take } from './block-pool.ts';
import type { EngineOutput, EngineState, LiveRequest, StepWork } from './engine-state.ts';
import { nextRandom } from './random.ts';
import { blockTokens } from './tokens.ts';

const blocksFor = (tokens: number): number => Math.ceil(tokens / blockTokens);

/** Starts the next step at `atMs` if there is work; leaves the engine idle otherwise. */
export function startStep(state: EngineState, atMs: number, outputs: EngineOutput[]): void {
  const work: StepWork[] = [];
  const preempted = planDecoding(state, atMs, work, outputs);
  let budget = state.config.chunkTokens - work.length;
  for (const request of state.running) {
    const missing = request.knownTokens - request.computedTokens;
    if (isDecoding(request)) continue;
    const tokens = Math.min(missing, budget);
    if (tokens <= 0) break;
    work.push({ request, tokens });
    budget -= tokens;
  }
  if (!preempted) admitWaiting(state, atMs, budget, work, outputs);
  state.step = work.length === 0 ? null : { endMs: atMs + durationMs(state, work), work };
}

/** All but the token that it produced last is in memory. */
function isDecoding({ spec, knownTokens, computedTokens }: LiveRequest): boolean {
  return knownTokens - computedTokens === 1 && knownTokens > spec.promptTokens;
}

/** Each decoding request takes one token and maybe one block. Returns whether one had to be preempted. */
function planDecoding(state: EngineState, atMs: number, work: StepWork[], outputs: EngineOutput[]): boolean {
  let preempted = false;
  for (let index = 0; index < state.running.length && work.length < state.config.chunkTokens; index += 1) {
    const request = state.running[index];
    if (request === undefined) break;
    if (!isDecoding(request)) continue;
    while (request.phase === 'running' && request.blocks.length < blocksFor(request.knownTokens)) {
      const block = take(state.pool);
      if (block === null) {
        preempted = true;
        preemptLast(state, atMs, outputs);
      } else request.blocks.push(block);
    }
    if (request.phase === 'running') work.push({ request, tokens: 1 });
  }
  return preempted;
}

function preemptLast(state: EngineState, atMs: number, outputs: EngineOutput[]): void {
  const victim = state.running.pop();
  if (victim === undefined) return;
  release(state.pool, victim.blocks);
  victim.blocks = [];
  victim.computedTokens = 0;
  victim.phase = 'waiting';
  state.preempted.unshift(victim);
  state.blockedAt = null;
  state.counters.preemptions += 1;
  outputs.push({ type: 'preempted', atMs, id: victim.spec.id });
}

function admitWaiting(
  state: EngineState,
  atMs: number,
  budgetTokens: number,
  work: StepWork[],
  outputs: EngineOutput[],
): void {
  let budget = budgetTokens;
  while (budget > 0 && state.running.length < state.config.maxRunning) {
    const request = state.preempted[0] ?? state.waiting.values().next().value;
    if (request === undefined || state.blockedAt === state.pool.changes) return;
    if (!claimMemory(state, request)) {
      state.blockedAt = state.pool.changes;
      return;
    }
    if (state.preempted[0] === request) state.preempted.shift();
    else state.waiting.delete(request.spec.id);
    request.phase = 'running';
    state.running.push(request);
    if (request.cachedTokens === null) {
      request.cachedTokens = request.computedTokens;
      state.counters.promptTokens += request.spec.promptTokens;
      state.counters.cachedTokens += request.cachedTokens;
      outputs.push({ type: 'started', atMs, id: request.spec.id, cachedTokens: request.cachedTokens });
    }
    const tokens = Math.min(request.knownTokens - request.computedTokens, budget);
    work.push({ request, tokens });
    budget -= tokens;
  }
}

/** Shares the cached prefix and takes the rest; the last token is always computed, as engines do. */
function claimMemory(state: EngineState, request: LiveRequest): boolean {
  const { pool } = state;
  const findable = Math.floor((request.knownTokens - 1) / blockTokens);
  const prefix = findPrefix(pool, request.spec.blockHashes, findable);
  const missing = blocksFor(request.knownTokens) - prefix.length;
  if (missing > pool.unused - countUnused(pool, prefix)) return false;
  for (const block of prefix) share(pool, block);
  request.computedTokens = prefix.length * blockTokens;
  request.blocks = prefix;
  for (let count = 0; count < missing; count += 1) {
    const block = take(pool);
    if (block !== null) request.blocks.push(block);
  }
  return true;
}

function durationMs(state: EngineState, work: readonly StepWork[]): number {
  const { config } = state;
  let prefillTokens = 0;
  let producing = 0;
  for (const { request, tokens } of work) {
    const prefill = request.knownTokens === request.spec.promptTokens || tokens > 1;
    if (prefill) prefillTokens += tokens;
    if (request.computedTokens + tokens === request.knownTokens) producing += 1;
  }
  state.counters.prefillTokens += prefillTokens;
  const exactMs =
    (prefillTokens / config.prefillTokensPerSecond) * 1_000 +
    (producing > 0 ? config.decodeBaseMs + config.decodePerRequestMs * producing : 0);
  if (config.jitter === 0) return exactMs;
  return exactMs * (1 + config.jitter * (2 * nextRandom(state.generator) - 1));
}

/** Ends the running step: what it computed is in memory now, and each complete request has a token more. */
export function completeStep(state: EngineState, outputs: EngineOutput[]): void {
  const { step } = state;
  if (step === null) return;
  state.step = null;
  state.nowMs = step.endMs;
  state.counters.steps += 1;
  for (const { request, tokens } of step.work) {
    if (request.phase !== 'running') continue;
    const firstNew = Math.floor(request.computedTokens / blockTokens);
    request.computedTokens += tokens;
    const full = Math.floor(request.computedTokens / blockTokens);
    for (let index = firstNew; index < full; index += 1) {
      const block = request.blocks[index];
      const hash = request.spec.blockHashes[index];
      if (block !== undefined && hash !== undefined) remember(state.pool, block, hash);
    }
    if (request.computedTokens === request.knownTokens) produceToken(state, request, step.endMs, outputs);
  }
}

function produceToken(state: EngineState, request: LiveRequest, atMs: number, outputs: EngineOutput[]): void {
  const index = request.knownTokens - request.spec.promptTokens;
  const { id, outputTokens } = request.spec;
  request.knownTokens += 1;
  state.counters.outputTokens += 1;
  if (index === 0 || state.config.reportTokens === 'all') outputs.push({ type: 'token', atMs, id, index });
  if (index + 1 < outputTokens) return;
  removeRequest(state, request);
  state.counters.finished += 1;
  outputs.push({ type: 'finished', atMs, id, cachedTokens: request.cachedTokens ?? 0 });
}

/** Frees place and memory of a live request, wherever it stands. */
export function removeRequest(state: EngineState, request: LiveRequest): void {
  const { id } = request.spec;
  if (request.phase === 'running') state.running.splice(state.running.indexOf(request), 1);
  else if (!state.waiting.delete(id)) state.preempted.splice(state.preempted.indexOf(request), 1);
  release(state.pool, request.blocks);
  request.blocks = [];
  request.phase = 'gone';
  state.live.delete(id);
  state.blockedAt = null;
}
