/**
 * `POST /v1/rerank` in the shape of Cohere and Jina, and the other two paths by which their clients ask.
 * Inference engines serve all of it under the first path, and some of them under no other; a server that is
 * none of those may mean something else by each, so it gets the path that the client chose.
 */
import type { PoolReplica } from '../../contracts/link-protocol.ts';
import type { ApiDescriptor } from './api-descriptor.ts';
import { readStatelessRequest } from './stateless-request.ts';

const enginesPath = '/v1/rerank';

export const rerankApis: readonly ApiDescriptor[] = [enginesPath, '/v2/rerank', '/rerank'].map((path) => ({
  name: 'rerank',
  path,
  readRequest: (body) => readStatelessRequest('rerank', pathOn(path), body),
}));

function pathOn(path: string): (replica: PoolReplica) => string {
  return ({ engine }) => (engine === 'none' ? path : enginesPath);
}
