/**
 * Runs whose course the task itself names, for tests of what surrounds a run: when it ends and how is
 * in the test's hand. Tests of the whole path use the real workflows.
 */
import {
  ApplicationFailure,
  condition,
  defineSignal,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';

interface Input {
  readonly task: string;
}

const finish = defineSignal('finish');
const counters = {
  turns: 2,
  toolCalls: 1,
  failedToolCalls: 1,
  promptTokens: 30,
  completionTokens: 12,
  cachedTokens: 10,
  modelMs: 5,
  toolMs: 4,
  heldMs: 3,
};

/** `say TEXT` ends with TEXT, `wait TEXT` once it is signalled; `repeat N` ends with N letters; `fail WHY` fails. */
export async function agentRun({ task }: Input) {
  const { memo } = workflowInfo();
  const first = memo?.['run'] as Record<string, unknown>;
  let finished = false;
  setHandler(finish, () => {
    finished = true;
  });
  upsertMemo({ run: { ...first, phase: 'model turn 1', counters, partial: 'so far' } });
  const [verb, ...rest] = task.split(' ');
  const words = rest.join(' ');
  if (verb === 'say') return { text: words, cut: false, counters };
  if (verb === 'repeat') return { text: `${'a'.repeat(Number(words) - 3)}end`, cut: true, counters };
  if (verb === 'fail') {
    upsertMemo({
      run: { ...first, status: 'Failed', phase: 'ended', counters, reason: words, partial: 'so far' },
    });
    throw ApplicationFailure.nonRetryable(words);
  }
  try {
    await condition(() => finished);
  } catch (error) {
    const ended = { status: 'Cancelled', phase: 'ended', counters, reason: 'enough', partial: 'so far' };
    upsertMemo({ run: { ...first, ...ended } });
    throw error;
  }
  return { text: words, cut: false, counters };
}

export async function listTools() {
  const tool = (name: string, annotations: Record<string, boolean>) => ({
    name: `desk__${name}`,
    server: 'desk',
    serverTool: name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object' },
    annotations,
  });
  return await Promise.resolve({
    tools: [tool('lookup', { readOnlyHint: true }), tool('erase', { destructiveHint: true })],
    warnings: ['attic: did not answer within 5 s'],
  });
}
