/** What each client of Temporal says when a setting is wrong: one line that names it, from the same doors. */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectTemporal } from '../../activities/connect-temporal.ts';
import { openConnection } from '../../cli/temporal/open-connection.ts';
import { TemporalLink } from '../../mcp-server/runs/temporal-link.ts';
import { explainConnection } from '../../temporal/explain-connection.ts';
import type { TemporalSettings } from '../../temporal/temporal-settings.ts';
import {
  createCertificateAuthority,
  type CertificateAuthority,
} from '../../testkit/temporal-cluster/certificates.ts';
import { startGuardedFront, type GuardedFront } from '../../testkit/temporal-cluster/guarded-front.ts';

/** Nobody is behind the doors: no call gets as far. */
const upstream = '127.0.0.1:1';
const host = '127.0.0.1';
const pem = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Doors {
  readonly keyed: GuardedFront;
  readonly mutual: GuardedFront;
  readonly elsewhere: GuardedFront;
  readonly plain: GuardedFront;
}

let ca: CertificateAuthority;
let other: CertificateAuthority;
let doors: Doors;
beforeAll(async () => {
  [ca, other] = await Promise.all([createCertificateAuthority('ours'), createCertificateAuthority('others')]);
  const certificate = await ca.sign('server', ['localhost', host]);
  const elsewhere = await ca.sign('server', ['temporal.internal']);
  const open = async (tls: Parameters<typeof startGuardedFront>[0]['tls'], apiKey: string | null) =>
    await startGuardedFront({ upstream, tls, apiKey });
  doors = {
    keyed: await open({ certificate, clientCa: null }, 'right'),
    mutual: await open({ certificate, clientCa: ca.cert }, null),
    elsewhere: await open({ certificate: elsewhere, clientCa: null }, null),
    plain: await open(null, null),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(doors).map(async (door: GuardedFront) => await door.close()));
});

type Wrong = readonly [what: string, settings: () => Promise<Partial<TemporalSettings>>, words: RegExp];

const trusting = (): { serverRootCACertificate: Uint8Array } => ({ serverRootCACertificate: pem(ca.cert) });

async function pairOf(authority: CertificateAuthority): Promise<{ crt: Uint8Array; key: Uint8Array }> {
  const { cert, key } = await authority.sign('client', ['client']);
  return { crt: pem(cert), key: pem(key) };
}

const wrongSettings: readonly Wrong[] = [
  [
    'a wrong key',
    async () => ({ address: doors.keyed.address, apiKey: 'wrong', tls: trusting() }),
    /refuses the API key \(TEMPORAL_API_KEY\).*Request unauthorized/,
  ],
  [
    'no key',
    async () => ({ address: doors.keyed.address, tls: trusting() }),
    /refuses a caller without a key: set TEMPORAL_API_KEY/,
  ],
  [
    'an authority that this machine does not know',
    async () => ({ address: doors.keyed.address, apiKey: 'right', tls: true }),
    /not signed by an authority that this machine trusts; set TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
  [
    'the wrong authority',
    async () => ({ address: doors.keyed.address, tls: { serverRootCACertificate: pem(other.cert) } }),
    /not signed by the authority that TEMPORAL_TLS_SERVER_CA_CERT_PATH names/,
  ],
  [
    'another name in the certificate',
    async () => ({ address: doors.elsewhere.address, tls: trusting() }),
    /certificate is not for '127\.0\.0\.1'; set TEMPORAL_TLS_SERVER_NAME/,
  ],
  [
    'TLS where there is none',
    async () => ({ address: doors.plain.address, tls: true }),
    /does not speak TLS: unset TEMPORAL_TLS/,
  ],
  [
    'a client certificate of a stranger',
    async () => ({
      address: doors.mutual.address,
      tls: { ...trusting(), clientCertPair: await pairOf(other) },
    }),
    /refuses the client's certificate \(TEMPORAL_TLS_CLIENT_CERT_PATH\)/,
  ],
];

async function failureOf(work: Promise<unknown>): Promise<string> {
  const failed = await work.then(
    () => null,
    (error: unknown) => error as Error,
  );
  expect(failed).toBeInstanceOf(Error);
  const { message } = failed ?? { message: '' };
  expect(message).not.toContain('\n');
  return message;
}

describe.each(wrongSettings)('%s is told in one line that says what to set', (_, settings, words) => {
  const whole = async (): Promise<TemporalSettings> => ({
    address: '',
    namespace: 'default',
    ...(await settings()),
  });

  it('by the worker', async () => {
    const deps = { logger: pino({ level: 'silent' }), timeoutMs: 500 };
    expect(await failureOf(connectTemporal(await whole(), deps))).toMatch(words);
  });

  it('by the mcp-server, where a call waits no longer than it may', async () => {
    const link = new TemporalLink(await whole(), 500);
    try {
      expect(await failureOf(link.call((client) => client.workflowService.getSystemInfo({})))).toMatch(words);
    } finally {
      await link.close();
    }
  });

  it('by the command line', async () => {
    expect(await failureOf(openConnection(await whole()))).toMatch(words);
  });
});

it('the worker waits for none of what waiting does not mend', async () => {
  const deps = { logger: pino({ level: 'silent' }), timeoutMs: 600_000 };
  for (const settings of [
    { address: doors.keyed.address, apiKey: 'wrong', tls: trusting() },
    { address: doors.keyed.address, tls: true },
    { address: doors.elsewhere.address, tls: trusting() },
  ]) {
    expect(await failureOf(connectTemporal({ namespace: 'default', ...settings }, deps))).not.toBe('');
  }
});

describe('a connection that may come about later', () => {
  const explain = async (settings: Partial<TemporalSettings>) =>
    await explainConnection({ address: '', namespace: 'default', ...settings }, 10_000);

  it('is none of a wrong setting when nobody listens', async () => {
    const trouble = await explain({ address: upstream });
    expect(trouble).toMatchObject({ isFinal: false, isReached: false });
    expect(trouble?.words).toMatch(/does not answer \(ECONNREFUSED\); start it, or set TEMPORAL_ADDRESS/);
  });

  it('tells that TLS may be wanted, or a client certificate', async () => {
    const plain = await explain({ address: doors.keyed.address });
    expect(plain).toMatchObject({ isFinal: false, isReached: true });
    expect(plain?.words).toContain('set TEMPORAL_TLS=true');
    const bare = await explain({ address: doors.mutual.address, tls: trusting() });
    expect(bare?.words).toMatch(/set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH/);
  });

  it('has nothing to tell where the settings are right', async () => {
    expect(await explain({ address: doors.plain.address })).toBeNull();
    expect(await explain({ address: doors.keyed.address, tls: trusting() })).toBeNull();
    const named = { ...trusting(), serverNameOverride: 'temporal.internal' };
    expect(await explain({ address: doors.elsewhere.address, tls: named })).toBeNull();
    const shown = { ...trusting(), clientCertPair: await pairOf(ca) };
    expect(await explain({ address: doors.mutual.address, tls: shown })).toBeNull();
  });
});
