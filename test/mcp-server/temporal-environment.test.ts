import { describe, expect, it } from 'vitest';
import { SettingsFault } from '../../contracts/settings.ts';
import { readTemporalSettings } from '../../mcp-server/temporal-environment.ts';

describe('where Temporal is', () => {
  it('is the local server when nothing is set', () => {
    expect(readTemporalSettings({}, 7233)).toEqual({ address: '127.0.0.1:7233', namespace: 'default' });
  });

  it('is what Temporal’s own variables say', () => {
    const environment = {
      TEMPORAL_ADDRESS: 'temporal.example:7233',
      TEMPORAL_NAMESPACE: 'agents',
      TEMPORAL_API_KEY: 'secret',
    };
    expect(readTemporalSettings(environment, 1)).toEqual({
      address: 'temporal.example:7233',
      namespace: 'agents',
      apiKey: 'secret',
      tls: true,
    });
  });

  it('has the certificates that are named', () => {
    const { tls } = readTemporalSettings(
      {
        TEMPORAL_ADDRESS: 'temporal.example:7233',
        TEMPORAL_TLS: 'true',
        TEMPORAL_TLS_SERVER_NAME: 'inner',
        TEMPORAL_TLS_CLIENT_CERT_DATA: 'crt',
        TEMPORAL_TLS_CLIENT_KEY_DATA: 'key',
      },
      1,
    );
    expect(tls).toMatchObject({
      serverNameOverride: 'inner',
      clientCertPair: { crt: new TextEncoder().encode('crt') },
    });
  });

  it('is refused in one line when it cannot be used', () => {
    const environment = { TEMPORAL_TLS: 'true', TEMPORAL_TLS_CLIENT_CERT_PATH: '/nowhere/crt' };
    expect(() => readTemporalSettings(environment, 1)).toThrow(SettingsFault);
  });
});
