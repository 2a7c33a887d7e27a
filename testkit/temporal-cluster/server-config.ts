/** The configuration of a Temporal server of four services on PostgreSQL, all on loopback ports. Pure. */

export interface ServerPorts {
  /** The frontend's gRPC port, the one that clients use. */
  readonly frontend: number;
  /** {@link restPorts} others: three for gRPC, four by which the services find each other. */
  readonly rest: readonly number[];
}

/** How many ports there are beside the frontend's. */
export const restPorts = 7;

/** Files of certificates and keys, PEM. */
export interface ServerTls {
  readonly caFile: string;
  /** The server's own. */
  readonly certFile: string;
  readonly keyFile: string;
  /** A name in the server's certificate. */
  readonly serverName: string;
  /** What the server's own parts show to its frontend. */
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
}

export interface ServerPlan {
  readonly host: string;
  readonly ports: ServerPorts;
  readonly database: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly name: string;
    readonly visibilityName: string;
  };
  /** null: the frontend speaks plain; else it asks for a certificate of the client. */
  readonly tls: ServerTls | null;
  readonly dynamicConfigPath: string;
}

/** @returns the object that the server reads as JSON, which is YAML. */
export function serverConfig(plan: ServerPlan): object {
  const { host, ports, database } = plan;
  const [history, matching, worker, ...members] = ports.rest;
  const [frontendMember, historyMember, matchingMember, workerMember] = members;
  const service = (grpcPort = 0, membershipPort = 0): object => ({
    rpc: { grpcPort, membershipPort, bindOnLocalHost: true },
  });
  const store = (databaseName: string, maxConns: number): object => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${database.host}:${database.port}`,
      connectProtocol: 'tcp',
      user: database.user,
      password: database.password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: store(database.name, 20), visibility: store(database.visibilityName, 10) },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: host },
      ...(plan.tls === null ? {} : { tls: tlsConfig(plan.tls) }),
    },
    services: {
      frontend: service(ports.frontend, frontendMember),
      history: service(history, historyMember),
      matching: service(matching, matchingMember),
      worker: service(worker, workerMember),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `${host}:${ports.frontend}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: plan.dynamicConfigPath, pollInterval: '10s' },
  };
}

function tlsConfig(tls: ServerTls): object {
  const client = { serverName: tls.serverName, rootCaFiles: [tls.caFile] };
  return {
    frontend: {
      server: {
        certFile: tls.certFile,
        keyFile: tls.keyFile,
        clientCaFiles: [tls.caFile],
        requireClientAuth: true,
      },
      client,
    },
    systemWorker: { certFile: tls.clientCertFile, keyFile: tls.clientKeyFile, client },
  };
}

/** Dynamic configuration as its file says it; values are JSON, as on the command line of the embedded server. */
export function dynamicConfigFile(settings: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, [{ value: JSON.parse(value) as unknown }]]),
  );
}
