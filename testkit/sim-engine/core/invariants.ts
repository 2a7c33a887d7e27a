/**
 * What must hold in an engine after every event, whatever happened: memory is neither lost nor doubled,
 * every request is in exactly one place, limits are kept. For tests and simulations; costs O(state).
 */
import type { EngineState, LiveRequest } from './engine-state.ts';
import { blockTokens } from './tokens.ts';

/** Returns one line for each law that is broken; an empty list is a sound engine. */
export function findBrokenLaws(state: EngineState): string[] {
  return [...findBrokenMemory(state), ...findBrokenCache(state), ...findBrokenPlaces(state)];
}

/** @throws Error naming every broken law. */
export function checkInvariants(state: EngineState): void {
  const broken = findBrokenLaws(state);
  if (broken.length > 0) throw new Error(`engine laws broken at ${state.nowMs} ms: ${broken.join('; ')}`);
}

function findBrokenMemory(state: EngineState): string[] {
  const { pool } = state;
  const broken: string[] = [];
  const held = new Int32Array(pool.total);
  for (const request of state.running) {
    for (const block of request.blocks) held[block] = (held[block] ?? 0) + 1;
    if (new Set(request.blocks).size !== request.blocks.length)
      broken.push(`${request.spec.id} holds a block twice`);
  }
  let used = 0;
  for (let block = 0; block < pool.total; block += 1) {
    if (held[block] !== pool.references[block]) {
      broken.push(`block ${block} has ${pool.references[block]} references, held by ${held[block]}`);
    }
    if ((held[block] ?? 0) > 0) used += 1;
  }
  let listed = 0;
  for (let block = pool.oldest; block !== -1 && listed <= pool.total; block = pool.next[block] ?? -1) {
    listed += 1;
    if (pool.references[block] !== 0) broken.push(`block ${block} is listed as unused and referenced`);
  }
  if (listed !== pool.unused) broken.push(`${listed} blocks are listed as unused, ${pool.unused} counted`);
  if (used + pool.unused !== pool.total)
    broken.push(`${used} used and ${pool.unused} unused blocks are not ${pool.total}`);
  return broken;
}

function findBrokenCache(state: EngineState): string[] {
  const { pool } = state;
  const broken: string[] = [];
  for (const [hash, block] of pool.cached) {
    if (pool.hashes[block] !== hash) broken.push(`the cache finds block ${block} by a hash it does not have`);
  }
  const hashed = pool.hashes.filter((hash) => hash !== null).length;
  if (hashed !== pool.cached.size) broken.push(`${hashed} blocks have a hash, ${pool.cached.size} are found`);
  return broken;
}

function findBrokenPlaces(state: EngineState): string[] {
  const { config, counters } = state;
  const broken: string[] = [];
  const waiting = [...state.preempted, ...state.waiting.values()];
  if (state.running.length > config.maxRunning) broken.push(`${state.running.length} requests are running`);
  if (state.live.size > config.maxRunning + config.maxQueue) broken.push(`${state.live.size} requests live`);
  const everywhere = new Set([...state.running, ...waiting]);
  if (everywhere.size !== state.live.size || state.running.length + waiting.length !== state.live.size) {
    broken.push('a live request is in no place or in two');
  }
  if (counters.accepted !== state.live.size + counters.finished + counters.aborted) {
    broken.push('accepted requests are not the live, the finished and the aborted ones');
  }
  for (const request of state.running) broken.push(...findBrokenProgress(request));
  for (const request of waiting) {
    if (request.blocks.length > 0 || request.computedTokens > 0)
      broken.push(`${request.spec.id} waits and holds memory`);
  }
  if (state.step === null && state.live.size > 0) broken.push('requests live and no step is under way');
  if (state.step !== null && state.step.endMs < state.nowMs) broken.push('a step ended in the past');
  return broken;
}

function findBrokenProgress(request: LiveRequest): string[] {
  const { spec, computedTokens, knownTokens, cachedTokens, blocks } = request;
  const broken: string[] = [];
  if (request.phase !== 'running') broken.push(`${spec.id} runs in phase ${request.phase}`);
  if (computedTokens >= knownTokens) broken.push(`${spec.id} has computed more than it knows`);
  if (knownTokens > spec.promptTokens + spec.outputTokens) broken.push(`${spec.id} has too many tokens`);
  if (blocks.length * blockTokens < computedTokens) broken.push(`${spec.id} has computed beyond its memory`);
  if (cachedTokens === null || cachedTokens >= spec.promptTokens)
    broken.push(`${spec.id} reports ${String(cachedTokens)} cached tokens`);
  return broken;
}
