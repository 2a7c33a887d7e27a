/**
 * A lease as a Lease object of Kubernetes (`coordination.k8s.io/v1`), read and written as its own leader elections
 * do: the version is the `resourceVersion`, with which the API server refuses a write that does not go on from what
 * is there; an empty holder is one that has given it back. The times in it are for people: nobody's clock is
 * believed. How many proxies are linked is an annotation.
 */
import { z } from 'zod';
import type { KubernetesAccess } from './kubernetes-access.ts';
import type { LeaseEntry, LeaseRecord, LeaseStore } from './lease-store.ts';

/** Fields of others stay as they are. */
const leaseSchema = z.looseObject({
  metadata: z.looseObject({
    resourceVersion: z.string().min(1),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z
    .looseObject({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.int().nullish(),
      leaseTransitions: z.int().nullish(),
      acquireTime: z.string().nullish(),
    })
    .nullish(),
});
type Lease = z.infer<typeof leaseSchema>;

const statusSchema = z.object({ message: z.string() });

const proxiesAnnotation = 'fermata/linked-proxies';

/** @throws Error with one readable line when the API server refuses to show leases. */
export async function openKubernetesLease(
  access: KubernetesAccess,
  { namespace, name }: { readonly namespace: string | null; readonly name: string },
): Promise<LeaseStore> {
  const lease = new KubernetesLease(access, namespace ?? access.namespace, name);
  // What no waiting mends is told at the start; an API server that is away is waited for.
  await lease.read().catch((error: unknown) => {
    if (error instanceof Refused) throw error;
  });
  return lease;
}

/** The service account may not do it. */
class Refused extends Error {}

class KubernetesLease implements LeaseStore {
  readonly at: string;
  readonly #access: KubernetesAccess;
  readonly #namespace: string;
  readonly #name: string;
  readonly #path: string;
  /** As it was read or written last, to keep what others have put into it. */
  #last: Lease | null = null;

  constructor(access: KubernetesAccess, namespace: string, name: string) {
    this.at = `kubernetes:${namespace}/${name}`;
    this.#access = access;
    this.#namespace = namespace;
    this.#name = name;
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  }

  async read(): Promise<LeaseEntry> {
    const { status, body } = await this.#access.ask('GET', `${this.#path}/${this.#name}`);
    if (status === 404) return { version: null, record: null };
    if (status !== 200) throw this.#fault('read', status, body);
    return this.#entryOf(body);
  }

  async write(record: LeaseRecord, version: string | null): Promise<LeaseEntry | null> {
    const lease = this.#leaseWith(record, version);
    const { status, body } =
      version === null
        ? await this.#access.ask('POST', this.#path, lease)
        : await this.#access.ask('PUT', `${this.#path}/${this.#name}`, lease);
    // Written since, made since, or removed since.
    if (status === 409 || (status === 404 && version !== null)) return null;
    if (status !== 200 && status !== 201) throw this.#fault('written', status, body);
    return this.#entryOf(body);
  }

  async close(): Promise<void> {
    await this.#access.close();
  }

  #leaseWith({ holder, durationMs, linkedProxies }: LeaseRecord, version: string | null): object {
    const before = this.#last?.metadata.resourceVersion === version ? this.#last : null;
    const now = microTime(new Date());
    const isRenewal = holder !== null && before?.spec?.holderIdentity === holder;
    const transitions = before?.spec?.leaseTransitions ?? 0;
    const takes = !isRenewal && holder !== null && before !== null;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        ...before?.metadata,
        name: this.#name,
        namespace: this.#namespace,
        ...(version === null ? {} : { resourceVersion: version }),
        annotations: {
          ...before?.metadata.annotations,
          ...(linkedProxies === null ? {} : { [proxiesAnnotation]: String(linkedProxies) }),
        },
      },
      spec: {
        ...before?.spec,
        holderIdentity: holder ?? '',
        leaseDurationSeconds: Math.max(1, Math.ceil(durationMs / 1_000)),
        leaseTransitions: takes ? transitions + 1 : transitions,
        acquireTime: isRenewal || holder === null ? (before?.spec?.acquireTime ?? now) : now,
        renewTime: now,
      },
    };
  }

  #entryOf(body: unknown): LeaseEntry {
    const lease = leaseSchema.parse(body);
    this.#last = lease;
    const { metadata, spec } = lease;
    const holder = spec?.holderIdentity ?? '';
    const proxies = Number(metadata.annotations?.[proxiesAnnotation] ?? Number.NaN);
    return {
      version: metadata.resourceVersion,
      record: {
        holder: holder === '' ? null : holder,
        durationMs: Math.max(1, spec?.leaseDurationSeconds ?? 1) * 1_000,
        linkedProxies: Number.isSafeInteger(proxies) && proxies >= 0 ? proxies : null,
      },
    };
  }

  #fault(verb: 'read' | 'written', status: number, body: unknown): Error {
    const told = statusSchema.safeParse(body);
    const words = told.success ? `: ${told.data.message}` : '';
    if (status !== 403) return new Error(`${this.at} cannot be ${verb} (HTTP ${status})${words}`);
    const rights = `give the service account get, create and update on leases of ${this.#namespace}`;
    return new Refused(
      `FERMATA_SCHEDULER_LEASE: ${this.at} may not be ${verb} (HTTP ${status})${words}; ${rights}`,
    );
  }
}

/** As Kubernetes writes its MicroTime. */
function microTime(date: Date): string {
  return date.toISOString().replace(/Z$/, '000Z');
}
