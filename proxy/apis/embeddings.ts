/** OpenAI's `POST /v1/embeddings`. */
import type { ApiDescriptor } from './api-descriptor.ts';
import { readStatelessRequest } from './stateless-request.ts';

const path = '/v1/embeddings';

export const embeddings: ApiDescriptor = {
  name: 'embeddings',
  path,
  readRequest: (body) => readStatelessRequest('embeddings', path, body),
};
