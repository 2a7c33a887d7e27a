/**
 * Starts a run: checks model and tools, then one workflow start, which is durable when it returns. A
 * repeated start with the same request id is recognised by its workflow id, also when two come at once
 * and when the run has already ended, and never starts a second run.
 */
import { defineSearchAttributeKey, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { Handle } from '../contracts/ids.ts';
import {
  runMemoKey,
  searchAttributes,
  workflowTypes,
  type RunInput,
  type RunStatus,
} from '../contracts/run.ts';
import type { ToolListing } from '../contracts/tool-listing.ts';
import type { Asker } from './asker.ts';
import { handleFor, newHandle, requestHash } from './handles.ts';
import { ProxyUnreachable } from './proxy-client.ts';
import type { RunReader } from './run-reader.ts';
import type { SharedRead } from './shared-read.ts';
import { initialMemo, quoted, summaryOf, toRunInput, type SpawnRequest } from './spawn-request.ts';
import type { TemporalLink } from './temporal-link.ts';
import { refuseUnknownTools } from './tool-listing.ts';
import { UserFault } from './user-fault.ts';

export interface SpawnOrigin {
  readonly asker: Asker;
  /** W3C trace context of the call. */
  readonly traceparent?: string | undefined;
}

export interface SpawnedRun {
  readonly handle: Handle;
  /** The same request had started this run before; nothing was started now. */
  readonly existing: boolean;
  readonly status: RunStatus;
  /** What the caller should know, such as a model that could not be checked. */
  readonly notes: readonly string[];
}

export interface SpawnDeps {
  readonly temporal: TemporalLink;
  readonly reader: RunReader;
  readonly taskQueue: string;
  readonly models: SharedRead<readonly string[]>;
  readonly toolListing: SharedRead<ToolListing>;
}

/** Memo entry by which a repeated start with another body is told from a true repeat. */
const requestMemoKey = 'request';
const batchOnlyNote = 'your token allows batch only, so the run is one of batch';

/** @throws UserFault for a model or a tool that is not there, or a request id used for something else. */
export async function spawnRun(
  deps: SpawnDeps,
  request: SpawnRequest,
  origin: SpawnOrigin,
): Promise<SpawnedRun> {
  const { asker } = origin;
  const input = toRunInput(request, asker, origin.traceparent);
  const { requestId, serviceClass } = request;
  const lowered = serviceClass === 'interactive' && input.class === 'batch' ? [batchOnlyNote] : [];
  if (requestId === undefined) return await startChecked(deps, input, newHandle(), lowered);
  const handle = handleFor(asker.caller, requestId);
  const before = await findRepeat(deps, handle, input, requestId, asker);
  if (before !== null) return before;
  try {
    return await startChecked(deps, input, handle, lowered);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const other = await findRepeat(deps, handle, input, requestId, asker);
    if (other === null) throw error;
    return other;
  }
}

async function startChecked(
  deps: SpawnDeps,
  input: RunInput,
  handle: Handle,
  notes: readonly string[],
): Promise<SpawnedRun> {
  const [note] = await Promise.all([checkModel(deps, input.model), checkTools(deps, input)]);
  const hash = requestHash(input);
  await deps.temporal.call((client) =>
    client.workflow.start(workflowTypes.agentRun, {
      taskQueue: deps.taskQueue,
      workflowId: handle,
      args: [input],
      memo: { [runMemoKey]: initialMemo(input, handle), [requestMemoKey]: hash },
      typedSearchAttributes: startAttributes(input, handle),
      staticSummary: summaryOf(input.task),
      workflowIdConflictPolicy: 'FAIL',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    }),
  );
  return { handle, existing: false, status: 'Running', notes: note === null ? notes : [...notes, note] };
}

function startAttributes(input: RunInput, handle: Handle) {
  const pair = (name: string, value: string) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value });
  return [
    pair(searchAttributes.status, 'Running'),
    pair(searchAttributes.caller, input.caller),
    pair(searchAttributes.class, input.class),
    pair(searchAttributes.root, handle),
  ];
}

/** The run that this very request started before; null when there is none. */
async function findRepeat(
  deps: SpawnDeps,
  handle: Handle,
  input: RunInput,
  requestId: string,
  asker: Asker,
): Promise<SpawnedRun | null> {
  const found = await deps.reader.find(handle, asker);
  if (found === null) return null;
  if (found.memo[requestMemoKey] !== requestHash(input)) {
    throw new UserFault(
      'conflict',
      `requestId ${quoted(requestId)} already started ${handle} with other arguments; use a new requestId for a new run`,
    );
  }
  return { handle, existing: true, status: found.view.status, notes: [] };
}

/** A note when the model could not be checked; null when it is in the pool or none was asked for. */
async function checkModel(deps: SpawnDeps, model: string | null): Promise<string | null> {
  if (model === null) return null;
  try {
    const models = await deps.models.get();
    if (models.includes(model)) return null;
    const available = models.length === 0 ? 'none now' : models.join(', ');
    throw new UserFault('invalid', `model ${quoted(model)} is not in the pool; available: ${available}`);
  } catch (error) {
    if (!(error instanceof ProxyUnreachable)) throw error;
    return `model ${quoted(model)} was not checked: ${error.message}`;
  }
}

async function checkTools(deps: SpawnDeps, { tools, approveTools }: RunInput): Promise<void> {
  for (const [field, names] of Object.entries({ tools: tools ?? [], approveTools })) {
    if (names.length === 0) continue;
    const refusal = refuseUnknownTools(field, names, await deps.toolListing.get());
    if (refusal !== null) throw new UserFault('invalid', refusal);
  }
}
