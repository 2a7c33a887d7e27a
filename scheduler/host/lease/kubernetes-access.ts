/** How a pod asks the Kubernetes API: its address, the authority that it is signed by, and a token that is renewed. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { readBounded } from '../bounded-get.ts';

/** Where a pod finds its service account. */
export const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The kubelet writes a new one in time; a file read is no cost at this pace. */
const tokenKeptMs = 60_000;
const answerWithinMs = 1_000;
const maxBodyBytes = 1024 * 1024;

export interface ApiAnswer {
  readonly status: number;
  /** null: it is no JSON. */
  readonly body: unknown;
}

export interface KubernetesAccess {
  /** Of the pod. */
  readonly namespace: string;
  /** @throws Error when there is no answer. */
  ask(method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<ApiAnswer>;
  close(): Promise<void>;
}

/** @throws Error with one readable line outside a pod, or in one without a service account. */
export async function openKubernetesAccess(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string = serviceAccountFolder,
): Promise<KubernetesAccess> {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const port =
    environment['KUBERNETES_SERVICE_PORT_HTTPS'] ?? environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined || host === '') {
    throw new Error('KUBERNETES_SERVICE_HOST is not set: a lease of Kubernetes needs a pod');
  }
  const [ca, namespace] = await Promise.all([
    readAccountFile(folder, 'ca.crt'),
    readAccountFile(folder, 'namespace'),
    // Read again when it is used: it must be there at the start.
    readAccountFile(folder, 'token'),
  ]);
  const agent = new Agent({
    connections: 2,
    connect: { ca, timeout: answerWithinMs },
    headersTimeout: answerWithinMs,
    bodyTimeout: answerWithinMs,
  });
  const origin = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const token = tokenReader(folder);
  return {
    namespace: namespace.trim(),
    async ask(method, path, body) {
      const answer = await request(`${origin}${path}`, {
        dispatcher: agent,
        method,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${await token.read()}`,
          'user-agent': 'fermata-scheduler',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(answerWithinMs),
      });
      if (answer.statusCode === 401) token.forget();
      return { status: answer.statusCode, body: parseJson(await readBounded(answer.body, maxBodyBytes)) };
    },
    close: async () => await agent.destroy(),
  };
}

function tokenReader(folder: string): { read(): Promise<string>; forget(): void } {
  let kept: { readonly token: string; readonly atMs: number } | null = null;
  return {
    async read() {
      if (kept === null || performance.now() - kept.atMs > tokenKeptMs) {
        const token = (await readAccountFile(folder, 'token')).trim();
        kept = { token, atMs: performance.now() };
      }
      return kept.token;
    },
    forget() {
      kept = null;
    },
  };
}

async function readAccountFile(folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const why = `${path} cannot be read: the pod needs a service account with its token mounted`;
    throw new Error(why, { cause: error });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
