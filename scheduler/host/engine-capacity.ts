/**
 * Tokens of KV memory that an engine tells of outside its metrics: SGLang in its server info, llama.cpp as
 * the context of its slots. Asked seldom, since it does not change while an engine runs.
 */
import { z } from 'zod';
import type { Engine } from '../../contracts/config-file.ts';
import { getJson, type GetOptions } from './bounded-get.ts';

const tokensSchema = z.int().min(1);

const sglangSchema = z.object({ max_total_num_tokens: tokensSchema });

const llamacppSchema = z.object({
  total_slots: z.int().min(1),
  default_generation_settings: z.object({ n_ctx: tokensSchema }),
});

interface Source {
  /** The first path that answers with what is wanted counts. */
  readonly paths: readonly string[];
  read(body: unknown): number | null;
}

const sources: Readonly<Partial<Record<Engine, Source>>> = {
  sglang: {
    paths: ['/get_server_info', '/server_info'],
    read: (body) => sglangSchema.safeParse(body).data?.max_total_num_tokens ?? null,
  },
  llamacpp: {
    paths: ['/props'],
    read(body) {
      const props = llamacppSchema.safeParse(body).data;
      return props === undefined ? null : props.total_slots * props.default_generation_settings.n_ctx;
    },
  },
};

/** Over all engines at `urls`; null when one of them does not say. */
export async function probeCapacity(
  engine: Engine,
  urls: readonly string[],
  options: GetOptions,
): Promise<number | null> {
  const source = sources[engine];
  if (source === undefined) return null;
  const answers = await Promise.all(urls.map((url) => readFirst(source, url, options)));
  return answers.reduce<number | null>(
    (sum, tokens) => (sum === null || tokens === null ? null : sum + tokens),
    0,
  );
}

async function readFirst(source: Source, url: string, options: GetOptions): Promise<number | null> {
  for (const path of source.paths) {
    const tokens = source.read(await getJson(`${url}${path}`, options));
    if (tokens !== null) return tokens;
  }
  return null;
}
