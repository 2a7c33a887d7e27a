/**
 * What an engine tells of its KV memory outside its metrics: SGLang its tokens in its server info, llama.cpp
 * its slots, each of which keeps one context, and how long that may be. Asked seldom, since it does not change
 * while an engine runs.
 */
import { z } from 'zod';
import type { Engine } from '../../contracts/config-file.ts';
import type { EngineLoad } from '../core/events.ts';
import { getJson, type GetOptions } from './bounded-get.ts';

export type EngineCapacity = Pick<EngineLoad, 'capacityTokens' | 'capacityContexts'>;

const tokensSchema = z.int().min(1);

const sglangSchema = z.object({ max_total_num_tokens: tokensSchema });

const llamacppSchema = z.object({
  total_slots: z.int().min(1),
  default_generation_settings: z.object({ n_ctx: tokensSchema }),
});

interface Source {
  /** The first path that answers with what is wanted counts. */
  readonly paths: readonly string[];
  /** null: it is not there. */
  read(body: unknown): EngineCapacity | null;
}

const sources: Readonly<Partial<Record<Engine, Source>>> = {
  sglang: {
    paths: ['/get_server_info', '/server_info'],
    read(body) {
      const info = sglangSchema.safeParse(body).data;
      return info === undefined
        ? null
        : { capacityTokens: info.max_total_num_tokens, capacityContexts: null };
    },
  },
  llamacpp: {
    paths: ['/props'],
    read(body) {
      const props = llamacppSchema.safeParse(body).data;
      if (props === undefined) return null;
      const slots = props.total_slots;
      return { capacityTokens: slots * props.default_generation_settings.n_ctx, capacityContexts: slots };
    },
  },
};

const unknownCapacity: EngineCapacity = { capacityTokens: null, capacityContexts: null };

/** Over all engines at `urls`; null where one of them does not say. */
export async function probeCapacity(
  engine: Engine,
  urls: readonly string[],
  options: GetOptions,
): Promise<EngineCapacity> {
  const source = sources[engine];
  if (source === undefined) return unknownCapacity;
  const answers = await Promise.all(urls.map((url) => readFirst(source, url, options)));
  return {
    capacityTokens: sumOfAll(answers.map(({ capacityTokens }) => capacityTokens)),
    capacityContexts: sumOfAll(answers.map(({ capacityContexts }) => capacityContexts)),
  };
}

function sumOfAll(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (sum, value) => (sum === null || value === null ? null : sum + value),
    0,
  );
}

async function readFirst(source: Source, url: string, options: GetOptions): Promise<EngineCapacity> {
  for (const path of source.paths) {
    const capacity = source.read(await getJson(`${url}${path}`, options));
    if (capacity !== null) return capacity;
  }
  return unknownCapacity;
}
