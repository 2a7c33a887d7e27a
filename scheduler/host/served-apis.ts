/**
 * Asks a replica which APIs it serves, by the rule of its engine, and reads the answers. Nothing that it
 * sends could make an engine generate: it only reads pages and, where an engine hides its endpoints from GET,
 * sends a body that is not JSON. Never throws; an answer that cannot be read tells nothing.
 *
 * - vLLM, SGLang and TensorRT-LLM are FastAPI programs and list their endpoints in `/openapi.json`; where that
 *   is switched off a GET is answered with 405 on an endpoint that wants a POST, and with 404 elsewhere. So it
 *   is with TGI and with Ollama (0.6.6 and later), which have no such page.
 * - llama.cpp answers any GET there with 404, but a POST without JSON with 400 where there is an endpoint and
 *   with 501 where the server was not started for it (`--embeddings`, `--reranking`).
 * - SGLang registers every endpoint whatever its model is, and tells in its model info whether that generates.
 *   So did vLLM for long, without telling: where both sorts are listed, the kind of the entry decides.
 * - Servers that are none of these are not asked: their entry says what they serve, or they serve chat.
 */
import { z } from 'zod';
import { keepsRunState, type Api, type Engine, type ReplicaConfig } from '../../contracts/config-file.ts';
import { getJson, statusOf, type GetOptions } from './bounded-get.ts';

/** All answers of one replica together must come within this time. */
const askTimeoutMs = 2_000;

/** Where the proxies send each. */
const pathOf: Readonly<Record<Api, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  score: '/v1/score',
  classify: '/classify',
};
const everyApi = Object.keys(pathOf) as readonly Api[];

/** Asked beside the others: a server that does not answer it with 404 cannot be read by its status codes. */
const controlPath = '/v1/no-such-endpoint';

type Told = readonly Api[] | null;
type Ask = (url: string, options: GetOptions, kind: ReplicaConfig['kind']) => Promise<Told>;

const asks: Readonly<Record<Engine, Ask | null>> = {
  vllm: async (url, options, kind) => narrowToKind(await askPage(url, options), kind),
  trtllm: async (url, options, kind) => narrowToKind(await askPage(url, options), kind),
  sglang: async (url, options, kind) => {
    const [told, generates] = await Promise.all([askPage(url, options), askGenerates(url, options)]);
    return generates === null ? narrowToKind(told, kind) : narrowToModel(told, generates);
  },
  tgi: askByGet,
  ollama: askByGet,
  llamacpp: askByPost,
  none: null,
};

/** Whether the replica is to be asked at all. */
export function tellsApis({ engine, apis }: ReplicaConfig): boolean {
  return apis === undefined && asks[engine] !== null;
}

/** What the replica says that it serves, of what its kind is there for; null: nothing that can be read. */
export async function askApis(replica: ReplicaConfig, options: GetOptions): Promise<Told> {
  const ask = asks[replica.engine];
  if (ask === null) return null;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(askTimeoutMs)]);
  const told = await ask(replica.url, { ...options, signal }, replica.kind);
  const apis = told?.filter((api) => isFor(replica.kind, api)) ?? [];
  return apis.length === 0 ? null : apis;
}

/** Engines register their classification whatever their model is; it is for those that are there for it. */
function isFor(kind: ReplicaConfig['kind'], api: Api): boolean {
  return kind === 'one-shot' ? !keepsRunState(api) : api !== 'classify';
}

const pageSchema = z.object({ paths: z.record(z.string(), z.looseObject({})) });

/** The APIs of an OpenAPI document; null when it is none. */
export function readPage(page: unknown): Told {
  const parsed = pageSchema.safeParse(page);
  if (!parsed.success) return null;
  const { paths } = parsed.data;
  return everyApi.filter((api) => paths[pathOf[api]]?.['post'] !== undefined);
}

async function askPage(url: string, options: GetOptions): Promise<Told> {
  return readPage(await getJson(`${url}/openapi.json`, options)) ?? (await askByGet(url, options));
}

/** Statuses by what they say of an endpoint; any other one says nothing of it. */
export interface StatusRule {
  readonly there: readonly number[];
  readonly absent: readonly number[];
}

/** To a GET of an endpoint that wants a POST. */
export const getRule: StatusRule = { there: [405], absent: [404] };

/** To a POST whose body is not JSON. */
export const postRule: StatusRule = { there: [400, 422, 500], absent: [404, 501] };

/** null when one status says nothing, or when an endpoint that cannot be seems to be there. */
export function readStatuses(
  statuses: ReadonlyMap<Api | 'control', number | null>,
  { there, absent }: StatusRule,
): Told {
  if (statuses.get('control') !== 404) return null;
  const apis: Api[] = [];
  for (const api of everyApi) {
    const status = statuses.get(api) ?? null;
    if (status === null || !(there.includes(status) || absent.includes(status))) return null;
    if (there.includes(status)) apis.push(api);
  }
  return apis;
}

async function askByGet(url: string, options: GetOptions): Promise<Told> {
  return readStatuses(await collect((path) => statusOf(`${url}${path}`, 'GET', null, options)), getRule);
}

async function askByPost(url: string, options: GetOptions): Promise<Told> {
  const status = (path: string): Promise<number | null> =>
    statusOf(`${url}${path}`, 'POST', 'which endpoints are there?', options);
  return readStatuses(await collect(status), postRule);
}

async function collect(
  status: (path: string) => Promise<number | null>,
): Promise<ReadonlyMap<Api | 'control', number | null>> {
  const paths: readonly (readonly [Api | 'control', string])[] = [
    ['control', controlPath],
    ...everyApi.map((api) => [api, pathOf[api]] as const),
  ];
  return new Map(await Promise.all(paths.map(async ([name, path]) => [name, await status(path)] as const)));
}

const modelInfoSchema = z.object({ is_generation: z.boolean() });

async function askGenerates(url: string, options: GetOptions): Promise<boolean | null> {
  for (const path of ['/get_model_info', '/model_info']) {
    const info = modelInfoSchema.safeParse(await getJson(`${url}${path}`, options));
    if (info.success) return info.data.is_generation;
  }
  return null;
}

/** Scores come from models of either sort. */
export function narrowToModel(told: Told, generates: boolean): Told {
  return told?.filter((api) => api === 'score' || keepsRunState(api) === generates) ?? null;
}

/** No model both generates and embeds: a list with both sorts is one of all endpoints that there are. */
export function narrowToKind(told: Told, kind: ReplicaConfig['kind']): Told {
  if (told === null || told.every(keepsRunState) || !told.some(keepsRunState)) return told;
  return told.filter((api) => keepsRunState(api) === (kind === 'generative'));
}
