/**
 * What the proxy tells of the pool's models, kept for some seconds: whether a conversation with one may
 * hold images. An endpoint that says nothing of it has models that take none.
 */
import { z } from 'zod';

export interface PoolModels {
  /**
   * @param fresh whether what was heard earlier does not count.
   * @returns null when the pool cannot be asked and was not heard lately.
   */
  takesImages(model: string, fresh?: boolean): Promise<boolean | null>;
}

/** @throws Error when there is no answer. */
export type AskModels = (signal: AbortSignal) => Promise<unknown>;

/** Milliseconds that an answer counts. */
const keptMs = 10_000;
/** Milliseconds that an older answer still counts for while none is to be had: a proxy restarts. */
const stillKeptMs = 600_000;
const askMs = 3_000;

const listSchema = z.object({ data: z.array(z.unknown()) });
const modelSchema = z.object({ id: z.string(), fermata: z.object({ images: z.boolean() }) });

interface Heard {
  readonly takingImages: ReadonlySet<string>;
  readonly atMs: number;
}

/** @param nowMs a clock that never goes back. */
export function createPoolModels(ask: AskModels, nowMs: () => number = () => performance.now()): PoolModels {
  let heard: Heard | null = null;
  let asking: Promise<Heard | null> | null = null;
  const askOnce = async (): Promise<Heard | null> => {
    try {
      heard = { takingImages: readModels(await ask(AbortSignal.timeout(askMs))), atMs: nowMs() };
    } catch {
      // What was heard earlier stands.
    }
    return heard;
  };
  return {
    async takesImages(model, fresh = false) {
      let known = heard;
      if (fresh || known === null || nowMs() - known.atMs > keptMs) {
        asking ??= askOnce().finally(() => (asking = null));
        known = await asking;
      }
      if (known === null || nowMs() - known.atMs > stillKeptMs) return null;
      return known.takingImages.has(model);
    },
  };
}

/** @throws Error when `body` is no list of models. */
function readModels(body: unknown): Set<string> {
  const models = new Set<string>();
  for (const entry of listSchema.parse(body).data) {
    const model = modelSchema.safeParse(entry);
    if (model.success && model.data.fermata.images) models.add(model.data.id);
  }
  return models;
}
