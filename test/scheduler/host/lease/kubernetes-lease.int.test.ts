/** The lease as an object of Kubernetes, over TLS, against a server in the manner of its API. */
import { unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKubernetesAccess } from '../../../../scheduler/host/lease/kubernetes-access.ts';
import { openKubernetesLease } from '../../../../scheduler/host/lease/kubernetes-lease.ts';
import type { LeaseRecord, LeaseStore } from '../../../../scheduler/host/lease/lease-store.ts';
import { openLease } from '../../../../scheduler/host/lease/open-lease.ts';
import { startKubernetesApi, type KubernetesApi } from './kubernetes-api.ts';

const key = 'agents/fermata';
let api: KubernetesApi;
const opened: LeaseStore[] = [];
beforeEach(async () => {
  api = await startKubernetesApi();
});
afterEach(async () => {
  for (const lease of opened.splice(0)) await lease.close();
  await api.close();
});

async function open(namespace: string | null = null): Promise<LeaseStore> {
  const access = await openKubernetesAccess(api.environment, api.accountFolder);
  const lease = await openKubernetesLease(access, { namespace, name: 'fermata' });
  opened.push(lease);
  return lease;
}

const of = (holder: string | null, linkedProxies = 2): LeaseRecord => ({
  holder,
  durationMs: 2_000,
  linkedProxies,
});

describe('a lease of Kubernetes', () => {
  it('is made, taken, renewed and given back as its own leader elections do', async () => {
    const lease = await open();
    expect(lease.at).toBe('kubernetes:agents/fermata');
    expect(await lease.read()).toEqual({ version: null, record: null });
    const made = await lease.write(of('a'), null);
    expect(made?.record).toEqual(of('a'));
    const renewed = await lease.write(of('a', 3), made?.version ?? null);
    expect(api.leases.get(key)).toMatchObject({
      metadata: { name: 'fermata', namespace: 'agents', annotations: { 'fermata/linked-proxies': '3' } },
      spec: { holderIdentity: 'a', leaseDurationSeconds: 2, leaseTransitions: 0 },
    });
    const acquired = api.leases.get(key)?.spec?.acquireTime;
    const other = await open('agents');
    expect(await other.read()).toEqual(renewed);
    const taken = await other.write(of('b', 3), renewed?.version ?? null);
    expect(api.leases.get(key)?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    expect(api.leases.get(key)?.spec?.acquireTime).not.toBe(acquired);
    const back = await other.write(of(null, 3), taken?.version ?? null);
    expect(back?.record).toEqual(of(null, 3));
    expect(api.leases.get(key)?.spec).toMatchObject({ holderIdentity: '', leaseTransitions: 1 });
    expect(await lease.read()).toEqual(back);
  });

  it('goes to one of those who write at the same time', async () => {
    const leases = await Promise.all(Array.from({ length: 6 }, () => open()));
    let version: string | null = null;
    for (let round = 0; round < 5; round += 1) {
      const written = await Promise.all(leases.map((lease, index) => lease.write(of(`c${index}`), version)));
      const won = written.filter((entry) => entry !== null);
      expect(won).toHaveLength(1);
      version = won[0]?.version ?? null;
      expect((await leases[0]?.read())?.version).toBe(version);
    }
  });

  it('is refused to one who has not read what others have changed, and keeps what they have added', async () => {
    const lease = await open();
    const made = await lease.write(of('a'), null);
    api.edit(key, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, note: 'kept' };
      metadata['labels'] = { team: 'agents' };
    });
    expect(await lease.write(of('a'), made?.version ?? null)).toBeNull();
    const read = await lease.read();
    expect(read.version).not.toBe(made?.version);
    expect(await lease.write(of('a'), read.version)).not.toBeNull();
    expect(api.leases.get(key)?.metadata).toMatchObject({
      annotations: { note: 'kept', 'fermata/linked-proxies': '2' },
      labels: { team: 'agents' },
    });
  });

  it('that was removed is written by nobody who knew it', async () => {
    const lease = await open();
    const made = await lease.write(of('a'), null);
    api.leases.delete(key);
    expect(await lease.write(of('a'), made?.version ?? null)).toBeNull();
    expect(await lease.read()).toEqual({ version: null, record: null });
  });

  it('that another program holds names its holder and its duration', async () => {
    const lease = await open();
    await lease.write(of('a'), null);
    api.edit(key, (stored) => {
      stored.spec = { holderIdentity: 'kubectl', leaseDurationSeconds: 30 };
      delete stored.metadata.annotations;
    });
    const record = { holder: 'kubectl', durationMs: 30_000, linkedProxies: null };
    expect((await lease.read()).record).toEqual(record);
    api.edit(key, (stored) => delete stored.spec);
    expect((await lease.read()).record?.holder).toBeNull();
  });

  it('goes on with a new token as soon as the old one is refused', async () => {
    const lease = await open();
    await api.setToken('token-2');
    await expect(lease.read()).rejects.toThrow('HTTP 401');
    expect(await lease.read()).toEqual({ version: null, record: null });
  });

  it('fails in words when the server does, and does not wait for one that is silent', async () => {
    const lease = await open();
    api.fault = { status: 500, message: 'etcdserver: request timed out' };
    await expect(lease.read()).rejects.toThrow('HTTP 500): etcdserver: request timed out');
    await expect(lease.write(of('a'), null)).rejects.toThrow('cannot be written (HTTP 500)');
    api.fault = 'silent';
    await expect(lease.read()).rejects.toThrow(/timeout|aborted/i);
    api.fault = null;
    expect(await lease.write(of('a'), null)).not.toBeNull();
  });
});

describe('at the start', () => {
  it('a service account without rights is told which it needs', async () => {
    api.fault = { status: 403, message: 'leases "fermata" is forbidden' };
    await expect(open()).rejects.toThrow(
      /^FERMATA_SCHEDULER_LEASE: kubernetes:agents\/fermata may not be read \(HTTP 403\).*; give the service account get, create and update on leases of agents$/,
    );
  });

  it('an API server that is away is waited for', async () => {
    api.fault = { status: 503, message: 'starting' };
    const lease = await open();
    api.fault = null;
    expect(await lease.read()).toEqual({ version: null, record: null });
  });

  it('a process outside a pod, and one without a service account, are told in one line', async () => {
    const setting = { kind: 'kubernetes', namespace: null, name: 'fermata' } as const;
    await expect(openLease(setting, {})).rejects.toThrow(
      /^FERMATA_SCHEDULER_LEASE: KUBERNETES_SERVICE_HOST is not set: .*$/,
    );
    await unlink(join(api.accountFolder, 'token'));
    await expect(openKubernetesAccess(api.environment, api.accountFolder)).rejects.toThrow(
      /token cannot be read: the pod needs a service account/,
    );
  });

  it('a server that its authority does not vouch for is not spoken to', async () => {
    await writeFile(join(api.accountFolder, 'ca.crt'), rootCertificates[0] ?? '');
    const access = await openKubernetesAccess(api.environment, api.accountFolder);
    await expect(access.ask('GET', '/')).rejects.toThrow(/certificate/);
    await access.close();
    expect(api.asked).toEqual([]);
  });
});
