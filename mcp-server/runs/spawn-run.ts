/**
 * Starts a run: checks model, tools and limits, then one workflow start for a root, or a message to the
 * tree of its parent, either of which is durable when it returns. A repeated start with the same request
 * id is recognised by its workflow id, also when two come at once and when the run has already ended, and
 * never starts a second run.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { Handle } from '../../contracts/ids.ts';
import {
  requestMemoKey,
  runMemoKey,
  searchAttributes,
  workflowTypes,
  type RunInput,
  type RunStatus,
} from '../../contracts/run.ts';
import type { ToolListing } from '../../contracts/tool-listing.ts';
import type { Asker } from './asker.ts';
import type { CallerLimit } from './caller-limit.ts';
import { handleFor, newHandle, requestHash } from './handles.ts';
import { ProxyUnreachable } from './proxy-client.ts';
import { parseHandle, type RunReader } from './run-reader.ts';
import type { RunView } from './run-view.ts';
import { pair } from './search-pair.ts';
import type { SharedRead } from './shared-read.ts';
import { initialMemo, quoted, summaryOf, toRunInput, type SpawnRequest } from './spawn-request.ts';
import type { RunTraces } from '../../telemetry/run-traces.ts';
import type { TemporalLink } from './temporal-link.ts';
import { refuseUnknownTools } from './tool-listing.ts';
import { startedIn, type SpawningCall } from './trace-spawn.ts';
import type { TreeClient } from './tree-client.ts';
import { UserFault } from './user-fault.ts';

export interface SpawnOrigin extends SpawningCall {
  readonly asker: Asker;
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
  readonly trees: TreeClient;
  readonly limit: CallerLimit;
  /** null: nothing is traced here. */
  readonly traces: RunTraces | null;
}

const batchOnlyNote = 'your token allows batch only, so the run is one of batch';

/** A run that is about to be started. */
interface Plan {
  readonly input: RunInput;
  readonly handle: Handle;
  /** null: a root. */
  readonly parent: RunView | null;
  readonly hash: string;
  readonly asker: Asker;
  readonly requestId: string | undefined;
}

/**
 * @throws UserFault for a parent, a model or a tool that is not there, for a request id used for
 * something else, and when a limit is reached.
 */
export async function spawnRun(
  deps: SpawnDeps,
  request: SpawnRequest,
  origin: SpawnOrigin,
): Promise<SpawnedRun> {
  const { asker } = origin;
  const { requestId, serviceClass } = request;
  const handle = requestId === undefined ? newHandle() : handleFor(asker.caller, requestId);
  const parent = request.parent === undefined ? null : await findParent(deps, request.parent, asker);
  const traceparent = await startedIn(deps.traces, origin, parent?.handle ?? null, handle);
  const input = toRunInput(request, asker, traceparent);
  const lowered = serviceClass === 'interactive' && input.class === 'batch' ? [batchOnlyNote] : [];
  const hash = requestHash(input, parent?.handle);
  const plan: Plan = { input, handle, parent, hash, asker, requestId };
  const before = await findRepeat(deps, plan);
  if (before !== null) return before;
  const [note] = await Promise.all([checkModel(deps, input.model), checkTools(deps, input)]);
  const notes = note === null ? lowered : [...lowered, note];
  const started = await deps.limit.inPlace(asker.caller, handle, async () =>
    plan.parent === null ? await startRoot(deps, plan) : await startChild(deps, plan, plan.parent),
  );
  if (started) return { handle, existing: false, status: 'Running', notes };
  const other = await findRepeat(deps, plan);
  if (other !== null) return other;
  throw new UserFault('conflict', `requestId ${quoted(requestId ?? '')} is taken; use a new requestId`);
}

async function findParent({ reader }: SpawnDeps, text: string, asker: Asker): Promise<RunView> {
  const handle = parseHandle(text);
  const found = await reader.find(handle, asker);
  if (found === null) throw await reader.unknown(handle);
  return found.view;
}

/** @returns false when there is a run with this handle already. */
async function startRoot(deps: SpawnDeps, { input, handle, hash }: Plan): Promise<boolean> {
  try {
    await deps.temporal.call((client) =>
      client.workflow.start(workflowTypes.agentRun, {
        taskQueue: deps.taskQueue,
        workflowId: handle,
        args: [input],
        memo: { [runMemoKey]: initialMemo(input, handle), [requestMemoKey]: hash },
        typedSearchAttributes: [
          pair(searchAttributes.status, 'Running'),
          pair(searchAttributes.caller, input.caller),
          pair(searchAttributes.class, input.class),
          pair(searchAttributes.root, handle),
        ],
        staticSummary: summaryOf(input.task),
        workflowIdConflictPolicy: 'FAIL',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
      }),
    );
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

/** @returns false when there is a run with this handle already. */
async function startChild(deps: SpawnDeps, plan: Plan, parent: RunView): Promise<boolean> {
  const { input, handle, hash, requestId } = plan;
  const answer = await deps.trees.spawn(parent.root, {
    handle,
    parent: parent.handle,
    requestHash: hash,
    maxRunning: deps.limit.maxRunning(input.caller),
    input,
  });
  switch (answer.kind) {
    case 'started':
      return true;
    case 'existing':
      // Without a request id nobody else knows this handle: the message was sent twice.
      return requestId === undefined;
    case 'refused':
      if (answer.why === 'taken' || answer.why === 'conflict') return false;
      throw new UserFault(answer.why === 'caller-full' ? 'busy' : 'conflict', answer.message);
  }
}

/** The run that this very request started before; null when there is none. */
async function findRepeat(deps: SpawnDeps, plan: Plan): Promise<SpawnedRun | null> {
  const { handle, hash, requestId, asker } = plan;
  if (requestId === undefined) return null;
  const found = await deps.reader.find(handle, asker);
  if (found === null) return null;
  if (found.memo[requestMemoKey] !== hash) {
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
