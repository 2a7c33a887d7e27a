/**
 * What is wrong in manifests that Helm has rendered, beyond what linters know: settings that the services do not
 * take, ports and paths that they do not have, words that the image does not know. Pure.
 */
import { z } from 'zod';
import { isServiceName } from '../../cli/service-names.ts';
import { settingsTable } from '../../contracts/settings-table.ts';
import { parseSettings, SettingsFault } from '../../contracts/settings.ts';

const probe = z.looseObject({ httpGet: z.object({ path: z.string(), port: z.string() }) }).optional();
const containerSchema = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
  securityContext: z.looseObject({
    readOnlyRootFilesystem: z.boolean(),
    allowPrivilegeEscalation: z.boolean(),
  }),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
});
const podSchema = z.looseObject({
  enableServiceLinks: z.boolean(),
  securityContext: z.looseObject({ runAsNonRoot: z.boolean() }),
  terminationGracePeriodSeconds: z.number().default(30),
  containers: z.array(containerSchema),
  volumes: z.array(z.looseObject({ name: z.string() })).default([]),
});
export const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ template: z.looseObject({ spec: podSchema }).optional() }).optional(),
});
export type Manifest = z.infer<typeof manifestSchema>;
type Pod = z.infer<typeof podSchema>;
type Container = z.infer<typeof containerSchema>;

const portOf: Readonly<Record<string, string | null>> = {
  scheduler: settingsTable.FERMATA_SCHEDULER_PORT.default,
  proxy: settingsTable.FERMATA_PROXY_PORT.default,
  worker: settingsTable.FERMATA_WORKER_PORT.default,
  'mcp-server': settingsTable.FERMATA_MCP_PORT.default,
};
/** Those of Temporal's environment package, and of OpenTelemetry. */
const foreignNames =
  /^(TEMPORAL_(ADDRESS|NAMESPACE|API_KEY|TLS(_SERVER_NAME|_CLIENT_CERT_PATH|_CLIENT_KEY_PATH|_SERVER_CA_CERT_PATH)?)|OTEL_EXPORTER_OTLP_(ENDPOINT|HEADERS))$/;
/** In place of a secret, for the services' own reading of their settings. */
const secret = 'a-secret-of-the-right-length';

/** One line each; empty when all is well. */
export function findingsOf(manifests: readonly Manifest[]): readonly string[] {
  const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [
    ...twice.map((name) => `${name} is there twice`),
    ...manifests.flatMap((manifest) => {
      const pod = manifest.spec?.template?.spec;
      if (pod === undefined) return [];
      return podFindings(pod).map((words) => `${manifest.kind}/${manifest.metadata.name}: ${words}`);
    }),
  ];
}

function podFindings(pod: Pod): readonly string[] {
  const volumes = new Set(pod.volumes.map(({ name }) => name));
  const mounted = new Set(pod.containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name)));
  return [
    ...(pod.enableServiceLinks ? ['the names of Services become settings'] : []),
    ...(pod.securityContext.runAsNonRoot ? [] : ['it may run as root']),
    ...[...mounted].filter((name) => !volumes.has(name)).map((name) => `${name} is mounted and not there`),
    ...[...volumes].filter((name) => !mounted.has(name)).map((name) => `${name} is not mounted`),
    ...pod.containers.flatMap((container) => containerFindings(container, pod)),
  ];
}

function containerFindings(container: Container, pod: Pod): readonly string[] {
  const [word = ''] = container.args;
  const { readOnlyRootFilesystem, allowPrivilegeEscalation } = container.securityContext;
  return [
    ...(readOnlyRootFilesystem && !allowPrivilegeEscalation ? [] : ['it may write, or gain rights']),
    ...environmentFindings(container),
    ...(isServiceName(word) ? serviceFindings(word, container, pod) : []),
    ...(isServiceName(word) || container.args.join(' ').startsWith('setup temporal')
      ? []
      : [`the image does not know '${container.args.join(' ')}'`]),
  ];
}

function environmentFindings({ env }: Container): readonly string[] {
  const names = env.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  const unknown = names.filter((name) => !(name in settingsTable) && !foreignNames.test(name));
  const environment = Object.fromEntries(env.map(({ name, value }) => [name, value ?? secretOf(name)]));
  return [
    ...twice.map((name) => `${name} is set twice`),
    ...unknown.map((name) => `${name} is no setting`),
    ...settingsFindings(environment),
  ];
}

function secretOf(name: string): string {
  return name === 'FERMATA_REDIS_URL' ? 'redis://:secret@redis:6379' : secret;
}

function settingsFindings(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    parseSettings(environment);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsFault)) throw error;
    return [error.message];
  }
}

function serviceFindings(service: string, container: Container, pod: Pod): readonly string[] {
  const { ports, env, livenessProbe, readinessProbe, startupProbe } = container;
  const drain = Number(env.find(({ name }) => name === 'FERMATA_DRAIN_SECONDS')?.value ?? 0);
  const least = service === 'worker' ? 45 : drain + 10;
  const paths = [livenessProbe, readinessProbe, startupProbe].map((one) => one?.httpGet.path);
  return [
    ...(String(ports[0]?.containerPort) === portOf[service] ? [] : [`${service} does not listen there`]),
    ...(paths[0] === '/healthz' && paths[2] === '/healthz' ? [] : ['it is not asked at /healthz']),
    ...(paths[1] === '/readyz' || (service === 'scheduler' && paths[1] === '/healthz')
      ? []
      : ['it is not asked whether it is ready']),
    ...(pod.terminationGracePeriodSeconds >= least
      ? []
      : [`${pod.terminationGracePeriodSeconds} s to stop are less than ${least}`]),
  ];
}
