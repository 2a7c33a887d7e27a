/**
 * What the scripted model of an agent says, whatever API the agent speaks: it spawns three sub-agents in one
 * reply, waits for all with one await, decides what then still waits for approval, spawns one more and
 * cancels it. The next reply follows from the tool results in the conversation alone. Pure.
 */

export interface ToolExchange {
  /** As our server calls the tool, without what a client puts before it. */
  readonly name: string;
  /** null while the conversation has none. */
  readonly result: string | null;
}

export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export type ScriptedReply = { readonly text: string } | { readonly calls: readonly ScriptedCall[] };

export type FleetScript = (exchanges: readonly ToolExchange[]) => ScriptedReply;

export const page = 'attic';
export const declinedText = 'It was not deleted.';
export const deletedText = 'The page is gone.';
export const lastText = 'Three have answered, the fourth was cancelled.';

const directive = (fields: object): string => `[[sim ${JSON.stringify(fields)}]]`;

const lookUp = (topic: string): string =>
  `Look up ${topic} and say what it is. ${directive({ calls: ['lookup'], answer: `${topic} is known.` })}`;

const tasks = [
  lookUp('bittern'),
  lookUp('egret'),
  `Delete the page ${page}. ${directive({
    calls: [{ tool: 'delete_page', arguments: { page } }],
    answer: 'I have done what I was allowed to.',
  })}`,
];

const slowTask = `Wait. ${directive({ calls: [{ tool: 'wait', arguments: { milliseconds: 600_000 } }], answer: 'Done.' })}`;

const handlePattern = /\brun_[A-Za-z0-9]{22}\b/;
/** The same in the text of an answer and in its structured content, quoted once or twice. */
const awaitingPattern = /\b(run_[A-Za-z0-9]{22})\b.{0,24}?AwaitingApproval/gs;

export function handlesOf(exchanges: readonly ToolExchange[]): string[] {
  return exchanges
    .filter(({ name }) => name === 'spawn')
    .flatMap(({ result }) => handlePattern.exec(result ?? '')?.[0] ?? []);
}

/** The runs of the last await that wait for a decision. */
function undecided(exchanges: readonly ToolExchange[]): string[] {
  const last = exchanges.findLast(({ name }) => name === 'await' || name === 'approve');
  if (last?.name !== 'await') return [];
  return [...(last.result ?? '').matchAll(awaitingPattern)].flatMap(([, handle]) => handle ?? []);
}

/** @param awaitSeconds how long the model is ready to wait in one call. */
export const fleetScript =
  (awaitSeconds: number): FleetScript =>
  (exchanges) => {
    const call = (name: string, input: ScriptedCall['input']): ScriptedCall => ({
      id: `call_${name}_${exchanges.length}`,
      name,
      input,
    });
    const handles = handlesOf(exchanges);
    const count = (name: string): number => exchanges.filter((one) => one.name === name).length;
    if (count('spawn') === 0) {
      const spawns = tasks.map((task, index) => ({ ...call('spawn', { task }), id: `call_spawn_${index}` }));
      return { calls: spawns };
    }
    if (handles.length < 3) return { text: `I got ${handles.length} handles of three.` };
    const waitForAll = call('await', { handles: handles.slice(0, 3), timeoutSeconds: awaitSeconds });
    if (count('await') === 0) return { calls: [waitForAll] };
    const waiting = undecided(exchanges);
    if (waiting.length > 0 && count('approve') < 3) {
      return { calls: waiting.map((handle) => call('approve', { handle, allow: true })) };
    }
    if (count('approve') > 0 && count('await') === 1) return { calls: [waitForAll] };
    const fourth = handles[3];
    if (count('spawn') === 3) return { calls: [call('spawn', { task: slowTask })] };
    if (fourth !== undefined && count('cancel') === 0) {
      return { calls: [call('cancel', { handle: fourth, reason: 'not needed any more' })] };
    }
    return { text: lastText };
  };

/** One sub-agent that works for so long, awaited in one call that is ready to wait longer. */
export const patienceScript =
  (workSeconds: number): FleetScript =>
  (exchanges) => {
    const [handle] = handlesOf(exchanges);
    if (exchanges.length === 0) {
      const calls = [{ tool: 'wait', arguments: { milliseconds: workSeconds * 1_000 } }];
      const task = `Wait. ${directive({ calls, answer: 'I have waited.' })}`;
      return { calls: [{ id: 'call_spawn', name: 'spawn', input: { task } }] };
    }
    if (exchanges.length === 1 && handle !== undefined) {
      const input = { handles: [handle], timeoutSeconds: workSeconds + 60 };
      return { calls: [{ id: 'call_await', name: 'await', input }] };
    }
    return { text: lastText };
  };
