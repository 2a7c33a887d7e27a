import { describe, expect, it } from 'vitest';
import {
  dynamicConfigFile,
  restPorts,
  serverConfig,
  type ServerPlan,
} from '../../../testkit/temporal-cluster/server-config.ts';

const plan: ServerPlan = {
  host: '127.0.0.1',
  ports: { frontend: 20_000, rest: Array.from({ length: restPorts }, (_, index) => 20_001 + index) },
  database: {
    host: '127.0.0.1',
    port: 5_432,
    user: 'temporal',
    password: 'secret',
    name: 'one',
    visibilityName: 'one_visibility',
  },
  tls: null,
  dynamicConfigPath: '/folder/dynamic.json',
};

/** Every number under a key that ends in `Port`. */
function portsIn(value: unknown): number[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key.endsWith('Port') && typeof inner === 'number' ? [inner] : portsIn(inner),
  );
}

describe('the configuration of a Temporal server', () => {
  it('gives each service a port for calls and one for its fellows, each once', () => {
    const ports = portsIn(serverConfig(plan)).toSorted((a, b) => a - b);
    expect(ports).toEqual([20_000, ...plan.ports.rest]);
  });

  it('keeps runs and what lists them in two databases', () => {
    expect(serverConfig(plan)).toMatchObject({
      persistence: {
        datastores: {
          default: { sql: { databaseName: 'one', connectAddr: '127.0.0.1:5432', password: 'secret' } },
          visibility: { sql: { databaseName: 'one_visibility' } },
        },
      },
    });
  });

  it('asks for certificates of clients when it is to speak TLS, and has one for its own parts', () => {
    const file = (name: string): string => `/folder/${name}.pem`;
    const tls = {
      caFile: file('ca'),
      certFile: file('server'),
      keyFile: file('server-key'),
      serverName: 'inner',
      clientCertFile: file('parts'),
      clientKeyFile: file('parts-key'),
    };
    expect(serverConfig({ ...plan, tls })).toMatchObject({
      global: {
        tls: {
          frontend: { server: { requireClientAuth: true, clientCaFiles: [file('ca')] } },
          systemWorker: { certFile: file('parts'), client: { serverName: 'inner' } },
        },
      },
    });
    expect(serverConfig(plan)).not.toHaveProperty('global.tls');
  });

  it('takes settings of dynamic configuration as the embedded server does', () => {
    expect(dynamicConfigFile({ 'a.count': '40', 'a.time': '"1s"', 'a.flag': 'false' })).toEqual({
      'a.count': [{ value: 40 }],
      'a.time': [{ value: '1s' }],
      'a.flag': [{ value: false }],
    });
  });
});
