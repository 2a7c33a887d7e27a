/**
 * Sends a turn in the form that its engine takes. What an engine cannot take it says in a refusal: the ids
 * of tool calls, a user's message right after a result, images. Then the turn is sent once more in another
 * form, and later turns go out so from the start; each form is tried once a turn. Images go only to a model
 * that takes them, whatever the transcript holds: the pool may have changed since they came.
 */
import type { Logger } from 'pino';
import type { ChatMessage } from '../../contracts/chat-messages.ts';
import { imagesOf, withoutImages } from '../../contracts/tool-images.ts';
import { wantsStrictCallIds, withStrictCallIds } from '../tool-calls/strict-call-ids.ts';
import { createWeightedCache, type WeightedCache } from '../weighted-cache.ts';
import { wantsBridge } from './chat-params.ts';
import type { UpstreamFailure } from './classify-failure.ts';
import { ModelTurnError } from './model-turn-error.ts';
import type { PoolModels } from './pool-models.ts';

export interface EngineManners {
  /** @throws what `send` threw for a form after which no other is left. */
  send<Reply>(turn: OpenTurn, send: (form: SentForm) => Promise<Reply>): Promise<Reply>;
  /** Forgets what is known of a run. */
  forget(runId: string): void;
}

export interface OpenTurn {
  readonly runId: string;
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
}

/** What goes out. */
export interface SentForm {
  readonly messages: readonly ChatMessage[];
  /** Whether an assistant's message stands between results and their images. */
  readonly bridged: boolean;
}

/** Models whose engine is known to be particular; there are no more than a pool has. */
const mostModels = 1_000;
/** Runs whose engine has refused images; a forgotten one is refused once more. */
const mostRuns = 10_000;

const notTaken = 'this model takes no images';
const refused = 'the engine did not take it';

interface Form {
  readonly strictIds: boolean;
  readonly bridged: boolean;
  /** Why images stay behind; null: they go along. */
  readonly leftOut: string | null;
}

export function createEngineManners(deps: {
  readonly pool: PoolModels;
  readonly logger?: Logger | undefined;
}): EngineManners {
  const strictIdModels = new Set<string>();
  const bridgedModels = new Set<string>();
  /** Calls of a run whose images its engine has refused. */
  const refusedCalls = createWeightedCache<ReadonlySet<string>>(mostRuns);
  return {
    async send(turn, send) {
      const name = turn.model ?? '';
      const messages = withoutRefused(turn, refusedCalls);
      const carriers = callsWithImages(messages);
      const takes = carriers.length === 0 ? null : await deps.pool.takesImages(name);
      let form: Form = {
        strictIds: strictIdModels.has(name),
        bridged: bridgedModels.has(name),
        leftOut: takes === false ? notTaken : null,
      };
      for (;;) {
        try {
          const reply = await send(shaped(messages, form));
          if (form.leftOut === refused) refuse(refusedCalls, turn.runId, carriers);
          return reply;
        } catch (error) {
          const failure = error instanceof ModelTurnError ? error.failure : null;
          if (failure?.kind !== 'status') throw error;
          if (!form.strictIds && wantsStrictCallIds(failure.status, failure.message)) {
            remember(strictIdModels, name);
            form = { ...form, strictIds: true };
          } else if (!form.bridged && wantsBridge(failure.status, failure.message)) {
            remember(bridgedModels, name);
            form = { ...form, bridged: true };
          } else if (form.leftOut === null && carriers.length > 0 && mayMeanImages(failure)) {
            const stillTakes = await deps.pool.takesImages(name, true);
            deps.logger?.warn(
              { run: turn.runId, model: name, engine: failure.message.slice(0, 500) },
              'an engine refused a conversation with images; it gets it without them',
            );
            form = { ...form, leftOut: stillTakes === false ? notTaken : refused };
          } else throw error;
        }
      }
    },
    forget: (runId) => refusedCalls.delete(runId),
  };
}

function shaped(messages: readonly ChatMessage[], { strictIds, bridged, leftOut }: Form): SentForm {
  const shown = leftOut === null ? messages : messages.map((message) => withoutImages(message, leftOut));
  return { messages: strictIds ? withStrictCallIds(shown) : shown, bridged };
}

function withoutRefused(
  { runId, messages }: OpenTurn,
  refusedCalls: WeightedCache<ReadonlySet<string>>,
): readonly ChatMessage[] {
  const calls = refusedCalls.get(runId);
  if (calls === undefined) return messages;
  return messages.map((message) =>
    message.role === 'tool' && calls.has(message.tool_call_id) ? withoutImages(message, refused) : message,
  );
}

function refuse(
  refusedCalls: WeightedCache<ReadonlySet<string>>,
  runId: string,
  calls: readonly string[],
): void {
  refusedCalls.set(runId, new Set([...(refusedCalls.get(runId) ?? []), ...calls]), 1);
}

function callsWithImages(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((message) =>
    message.role === 'tool' && imagesOf(message).length > 0 ? [message.tool_call_id] : [],
  );
}

/** Any refusal that is not about size or load; engines that fail on an image say so with 500 too. */
function mayMeanImages(failure: Extract<UpstreamFailure, { kind: 'status' }>): boolean {
  if (failure.refusal?.kind === 'bad_request' || failure.status === 415) return true;
  return (
    failure.status === 500 &&
    failure.refusal === null &&
    /\bimages?\b|multi-?modal|mmproj|vision/i.test(failure.message)
  );
}

function remember(models: Set<string>, name: string): void {
  if (models.size < mostModels) models.add(name);
}
