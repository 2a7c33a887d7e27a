/** `POST /v1/score`, as vLLM and SGLang have it: how well texts go together. */
import type { ApiDescriptor } from './api-descriptor.ts';
import { readStatelessRequest } from './stateless-request.ts';

const path = '/v1/score';

export const score: ApiDescriptor = {
  name: 'score',
  path,
  readRequest: (body) => readStatelessRequest('score', path, body),
};
