/**
 * A server in the manner of the Kubernetes API, for Lease objects only: over TLS, with a bearer token, its answers
 * of errors (`Status`), and its rules of `resourceVersion`: every write gives a new one, and a write that names
 * another than there is is refused. It is no Kubernetes: what it checks was written after the API's description.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';

const fixtures = resolve(import.meta.dirname, '../../../fixtures/kubernetes-api');
const read = (name: string): string => readFileSync(join(fixtures, name), 'utf8');

const microTime = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
const leaseSchema = z.looseObject({
  apiVersion: z.literal('coordination.k8s.io/v1'),
  kind: z.literal('Lease'),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    resourceVersion: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z
    .strictObject({
      holderIdentity: z.string().optional(),
      leaseDurationSeconds: z.int().positive().optional(),
      leaseTransitions: z.int().min(0).optional(),
      acquireTime: microTime.optional(),
      renewTime: microTime.optional(),
      strategy: z.string().optional(),
      preferredHolder: z.string().optional(),
    })
    .optional(),
});
export type ApiLease = z.infer<typeof leaseSchema>;

export interface KubernetesApi {
  readonly environment: Readonly<Record<string, string>>;
  /** As a pod finds it. */
  readonly accountFolder: string;
  /** As `namespace/name`. */
  readonly leases: Map<string, ApiLease>;
  /** What it has been asked, as `METHOD path`. */
  readonly asked: string[];
  /** The token that is valid now, which the kubelet has written. */
  setToken(token: string, written?: boolean): Promise<void>;
  /** Each request is answered with this instead; null: as it should be. `silent`: not at all. */
  fault: 'silent' | { readonly status: number; readonly message: string } | null;
  /** Writes as somebody else does. */
  edit(key: string, change: (lease: ApiLease) => void): void;
  close(): Promise<void>;
}

export async function startKubernetesApi(namespace = 'agents'): Promise<KubernetesApi> {
  const accountFolder = await mkdtemp(join(tmpdir(), 'fermata-account-'));
  await writeFile(join(accountFolder, 'ca.crt'), read('ca.crt'));
  await writeFile(join(accountFolder, 'namespace'), namespace);
  let token = '';
  let version = 100;
  const leases = new Map<string, ApiLease>();
  const store = (key: string, lease: ApiLease): ApiLease => {
    version += 1;
    const stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(version) } };
    leases.set(key, stored);
    return stored;
  };
  const answer = async (request: IncomingMessage): Promise<readonly [status: number, body: object]> => {
    const { method = '', url = '' } = request;
    api.asked.push(`${method} ${url}`);
    const body = await bodyOf(request);
    if (request.headers.authorization !== `Bearer ${token}`) return failure(401, 'Unauthorized');
    if (api.fault !== null && api.fault !== 'silent') return failure(api.fault.status, api.fault.message);
    const path = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/([^/]+)\/leases(?:\/([^/]+))?$/.exec(url);
    if (path === null) return failure(404, 'the server could not find the requested resource');
    const [, inNamespace = '', name = ''] = path;
    if (method === 'GET') {
      const found = leases.get(`${inNamespace}/${name}`);
      return found === undefined ? failure(404, `leases "${name}" not found`) : [200, found];
    }
    const lease = leaseSchema.safeParse(body);
    if (!lease.success) return failure(422, lease.error.message);
    const key = `${inNamespace}/${lease.data.metadata.name}`;
    const there = leases.get(key);
    if (method === 'POST') {
      if (lease.data.metadata.resourceVersion !== undefined) {
        return failure(400, 'resourceVersion should not be set on objects to be created');
      }
      if (there !== undefined) return failure(409, `leases "${lease.data.metadata.name}" already exists`);
      return [201, store(key, lease.data)];
    }
    if (method !== 'PUT') return failure(405, 'the method is not allowed');
    if (name !== lease.data.metadata.name) return failure(400, 'the name of the object does not match');
    if (there === undefined) return failure(404, `leases "${name}" not found`);
    const given = lease.data.metadata.resourceVersion;
    if (given !== undefined && given !== there.metadata.resourceVersion) {
      return failure(409, 'the object has been modified; please apply your changes to the latest version');
    }
    return [200, store(key, lease.data)];
  };
  const server = createServer({ cert: read('server.crt'), key: read('server.key') }, (request, response) => {
    answer(request)
      .then(([status, body]) => {
        if (api.fault !== 'silent') send(response, status, body);
      })
      .catch((error: unknown) => send(response, 500, { message: String(error) }));
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  const api: KubernetesApi = {
    accountFolder,
    environment: {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String((server.address() as AddressInfo).port),
    },
    leases,
    asked: [],
    fault: null,
    async setToken(given, written = true) {
      token = given;
      if (written) await writeFile(join(accountFolder, 'token'), `${given}\n`);
    },
    edit(key, change) {
      const lease = structuredClone(leases.get(key));
      if (lease === undefined) throw new Error(`there is no lease ${key}`);
      change(lease);
      store(key, lease);
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((closed) => {
        server.close(() => closed());
      });
      await rm(accountFolder, { recursive: true });
    },
  };
  await api.setToken('token-1');
  return api;
}

function failure(code: number, message: string): readonly [status: number, body: object] {
  return [code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code }];
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? null : JSON.parse(text);
}
