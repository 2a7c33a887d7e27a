/** Which paths the engine has, and which API each belongs to. */
import type { Api } from '../../../contracts/config-file.ts';
import type { ApiReader } from './api.ts';
import { readChat } from './chat-request.ts';
import { readClassify } from './classify.ts';
import { readCompletions } from './completions.ts';
import { readEmbeddings } from './embeddings.ts';
import { readMessages } from './messages-request.ts';
import { readRerank, readScore } from './rerank.ts';
import { readResponses } from './responses-request.ts';

export interface ApiRoute {
  readonly api: Api;
  /** null: answers at once, without the engine's work. */
  readonly read: ApiReader | null;
}

/** As vLLM names them; all are `POST`. */
export const apiRoutes: ReadonlyMap<string, ApiRoute> = new Map([
  ['/v1/chat/completions', { api: 'chat', read: readChat }],
  ['/v1/completions', { api: 'completions', read: readCompletions }],
  ['/v1/responses', { api: 'responses', read: readResponses }],
  ['/v1/messages', { api: 'messages', read: readMessages }],
  ['/v1/messages/count_tokens', { api: 'messages', read: null }],
  ['/v1/embeddings', { api: 'embeddings', read: readEmbeddings }],
  ['/v1/rerank', { api: 'rerank', read: readRerank }],
  ['/v2/rerank', { api: 'rerank', read: readRerank }],
  ['/rerank', { api: 'rerank', read: readRerank }],
  ['/v1/score', { api: 'score', read: readScore }],
  ['/score', { api: 'score', read: readScore }],
  ['/v1/classify', { api: 'classify', read: readClassify }],
  ['/classify', { api: 'classify', read: readClassify }],
]);

/** What an engine of a kind serves when nothing else was said. */
export const apisOfKind: Readonly<Record<'generative' | 'one-shot', readonly Api[]>> = {
  generative: ['chat', 'completions', 'responses', 'messages'],
  'one-shot': ['classify', 'embeddings', 'rerank', 'score'],
};
