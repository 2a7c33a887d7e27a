import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SettingsFault } from '../../contracts/settings.ts';
import {
  connectionOptionsOf,
  readTemporalCluster,
  readTemporalSettings,
} from '../../temporal/temporal-settings.ts';
import {
  createCertificateAuthority,
  type CertificateAuthority,
  type KeyAndCertificate,
} from '../../testkit/temporal-cluster/certificates.ts';

const local = '127.0.0.1:7233';
const address = 'temporal.example:7233';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

let folder = '';
let authority: CertificateAuthority;
let client: KeyAndCertificate;
let stranger: KeyAndCertificate;
beforeAll(async () => {
  authority = await createCertificateAuthority('cluster');
  client = await authority.sign('fermata', ['fermata']);
  stranger = await authority.sign('stranger', ['stranger']);
  folder = mkdtempSync(join(tmpdir(), 'fermata-settings-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** A profile as Temporal's own command line keeps it. */
function profiles(): string {
  return file(
    'temporal.toml',
    `[profile.default]\naddress = "default.example:7233"\nnamespace = "usual"\n[profile.prod]\naddress = "prod.example:7233"\nnamespace = "agents"\napi_key = "from-file"\n`,
  );
}

describe('where Temporal is', () => {
  it('is the local server when nothing is set', () => {
    expect(readTemporalCluster({})).toBeNull();
    expect(readTemporalSettings({}, local)).toEqual({ address: local, namespace: 'default' });
  });

  it('is the local server when all is set to nothing', () => {
    const empty = { TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: ' ', TEMPORAL_API_KEY: '', TEMPORAL_TLS: '' };
    expect(readTemporalCluster(empty)).toBeNull();
    expect(readTemporalSettings(empty, local)).toEqual({ address: local, namespace: 'default' });
  });

  it('is what Temporal’s own variables say, and a key turns TLS on', () => {
    const environment = {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: 'agents',
      TEMPORAL_API_KEY: 'secret',
    };
    const settings = { address, namespace: 'agents', apiKey: 'secret', tls: true };
    expect(readTemporalCluster(environment)).toEqual(settings);
    expect(connectionOptionsOf(settings)).toEqual({ address, apiKey: 'secret', tls: true });
  });

  it('may take a key without TLS, when that is said', () => {
    const environment = { TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: 'secret', TEMPORAL_TLS: 'false' };
    expect(readTemporalCluster(environment)).toMatchObject({ apiKey: 'secret', tls: false });
    expect(connectionOptionsOf({ address, namespace: 'x', apiKey: 'secret' })).toMatchObject({ tls: false });
  });

  it('has the certificates that are named, as files or as text', () => {
    const environment = {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_TLS_SERVER_NAME: 'inner',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('ca.pem', authority.cert),
      TEMPORAL_TLS_CLIENT_CERT_DATA: client.cert,
      TEMPORAL_TLS_CLIENT_KEY_DATA: client.key,
    };
    expect(readTemporalCluster(environment)?.tls).toEqual({
      serverNameOverride: 'inner',
      serverRootCACertificate: bytes(authority.cert),
      clientCertPair: { crt: bytes(client.cert), key: bytes(client.key) },
    });
  });

  it('is TLS without more when that is all that is said', () => {
    expect(readTemporalCluster({ TEMPORAL_ADDRESS: address, TEMPORAL_TLS: 'true' })?.tls).toEqual({});
  });

  it('has further headers of every call', () => {
    const environment = { TEMPORAL_ADDRESS: address, TEMPORAL_GRPC_META_X_TEAM: 'blue' };
    expect(readTemporalCluster(environment)?.metadata).toEqual({ 'x-team': 'blue' });
  });
});

describe('a profile of Temporal’s own file', () => {
  it('is used when file and profile are named, and variables go before it', () => {
    const environment = { TEMPORAL_CONFIG_FILE: profiles(), TEMPORAL_PROFILE: 'prod' };
    expect(readTemporalCluster(environment)).toEqual({
      address: 'prod.example:7233',
      namespace: 'agents',
      apiKey: 'from-file',
      tls: true,
    });
    expect(readTemporalCluster({ ...environment, TEMPORAL_NAMESPACE: 'other' })?.namespace).toBe('other');
  });

  it('is the default one when the file alone is named', () => {
    expect(readTemporalCluster({ TEMPORAL_CONFIG_FILE: profiles() })).toEqual({
      address: 'default.example:7233',
      namespace: 'usual',
    });
  });

  it('does not count when nobody asks for it: the file of the command line is not fermata’s', () => {
    const home = mkdtempSync(join(folder, 'home-'));
    const environment = { XDG_CONFIG_HOME: home, HOME: home, TEMPORAL_ADDRESS: address };
    expect(readTemporalCluster(environment)).toEqual({ address, namespace: 'default' });
  });
});

describe('a certificate that cannot be used is named before anything is started:', () => {
  const wrong = (environment: Record<string, string>) => () =>
    readTemporalCluster({ TEMPORAL_ADDRESS: address, ...environment });

  it('an authority that is none', () => {
    const path = file('no-ca.pem', 'nothing');
    expect(wrong({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: path })).toThrow(
      /^TEMPORAL_TLS_SERVER_CA_CERT_PATH: cannot be read as PEM/,
    );
  });

  it('a client certificate that is none', () => {
    const pair = { TEMPORAL_TLS_CLIENT_CERT_DATA: 'x', TEMPORAL_TLS_CLIENT_KEY_DATA: client.key };
    expect(wrong(pair)).toThrow(/^TEMPORAL_TLS_CLIENT_CERT_PATH: cannot be read as PEM/);
  });

  it('a key that is another’s', () => {
    const pair = {
      TEMPORAL_TLS_CLIENT_CERT_DATA: client.cert,
      TEMPORAL_TLS_CLIENT_KEY_DATA: stranger.key,
    };
    expect(wrong(pair)).toThrow(/^TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH: cannot/);
  });
});

describe('a setting that cannot be used is refused in one line that says what to do', () => {
  it.each([
    ['a key without a cluster', { TEMPORAL_API_KEY: 'x' }, /TEMPORAL_API_KEY is set, .*set TEMPORAL_ADDRESS/],
    ['TLS without a cluster', { TEMPORAL_TLS: 'true' }, /TEMPORAL_TLS is set, .*set TEMPORAL_ADDRESS/],
    ['a scheme', { TEMPORAL_ADDRESS: 'https://x:7233' }, /TEMPORAL_ADDRESS: got 'https.* expected host:port/],
    ['no port', { TEMPORAL_ADDRESS: 'temporal.example' }, /expected host:port/],
    [
      'a certificate that is not there',
      { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca.pem' },
      /\/nowhere\/ca\.pem/,
    ],
    [
      'half a pair',
      { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_CLIENT_CERT_DATA: 'x' },
      /TEMPORAL_TLS_CLIENT_CERT_PATH needs TEMPORAL_TLS_CLIENT_KEY_PATH/,
    ],
    [
      'the other half of a pair',
      { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_CLIENT_KEY_DATA: 'x' },
      /TEMPORAL_TLS_CLIENT_KEY_PATH needs TEMPORAL_TLS_CLIENT_CERT_PATH/,
    ],
    [
      'what Temporal’s client cannot do',
      { TEMPORAL_ADDRESS: address, TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'true' },
      /TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
    ],
    ['a file that is not there', { TEMPORAL_CONFIG_FILE: '/nowhere/t.toml' }, /\/nowhere\/t\.toml/],
    ['a profile without a file', { TEMPORAL_PROFILE: 'prod', HOME: '/nowhere' }, /Profile 'prod' not found/],
  ])('%s', (_, environment: Record<string, string>, words) => {
    let fault: unknown = null;
    try {
      readTemporalSettings(environment, local);
    } catch (error) {
      fault = error;
    }
    expect(fault).toBeInstanceOf(SettingsFault);
    const { message } = fault as Error;
    expect(message).toMatch(words);
    expect(message).not.toContain('\n');
  });
});
