/**
 * `npm run test:chart`: what needs programs from registries to be checked. hadolint reads the Dockerfile; the real
 * Compose puts each overlay on the base; the real Helm lints the chart and renders it for every example, and what
 * comes out is held to Kubernetes' schemas, to kube-score and to the services (chart-findings.ts); server.json is held
 * to the registry's own schema. The first run builds Helm, kube-score and Compose with Go: some minutes.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { findingsOf, manifestSchema } from './chart-findings.ts';
import { ensureGoTool, ensureWheels } from './check-tools.ts';

const root = resolve(import.meta.dirname, '..', '..');
const docker = join(root, 'docker');
const chart = join(docker, 'helm', 'fermata');
const stateDir = join(root, '.fermata');
const say = (line: string): void => console.error(`chart: ${line}`);
const faults: string[] = [];

/** Versions that the chart says it works on, the oldest and a new one. */
const kubernetesVersions = ['1.27', '1.34'];
/** Kinds of others, for which there is no schema here. */
const foreignKinds =
  /Couldn't find schema for kind (ScaledObject|TriggerAuthentication|PodMonitor|PrometheusRule) /;
/** What is meant: no limits of CPU, images by exact tag, any way out (engines, tools and Temporal are anywhere), replicas
 * that KEDA sets, a scheduler that is ready while it stands by. */
const meant = [
  'egress NetworkPolicy',
  'Deployment few replicas',
  'CPU limit is not set',
  'ImagePullPolicy is not set to Always',
  '-scheduler apps/v1/StatefulSet: Container has the same readiness and liveness probe',
];

interface Ran {
  readonly code: number | null;
  /** What it has made, without what it told beside it. */
  readonly made: string;
  /** All that it printed. */
  readonly output: string;
}

function run(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Ran {
  const done = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1_048_576,
    env: { PATH: process.env['PATH'] ?? '', HOME: tmpdir(), ...environment },
  });
  return { code: done.status, made: done.stdout, output: `${done.stdout}${done.stderr}` };
}

function judge(what: string, holds: boolean, output: string): void {
  say(`${holds ? 'ok   ' : 'FAULT'} ${what}`);
  if (!holds) faults.push(`${what}\n${output.trim()}`);
}

function checkDockerfile(venv: string): void {
  const { code, output } = run(join(venv, 'bin', 'hadolint'), [join(docker, 'Dockerfile')]);
  judge('hadolint: docker/Dockerfile', code === 0, output);
}

/** What docker/.env would hold. */
const secrets = {
  FERMATA_TOKEN: 'a-token-of-some-length',
  POSTGRES_PASSWORD: 'secret',
  GRAFANA_PASSWORD: 'secret',
  HOSTED_URL: 'https://api.example.com',
  HOSTED_MODEL: 'large',
  POOL_KEY: 'a-key',
};

function checkCompose(compose: string): void {
  const overlays = readdirSync(docker).filter((name) => /^compose\.\w+\.yaml$/.test(name));
  const sets = [[], ...overlays.map((name) => [name]), ['compose.testbed.yaml', 'compose.otel.yaml']];
  for (const set of sets) {
    const files = ['compose.yaml', ...set].flatMap((name) => ['-f', join(docker, name)]);
    const whole = run(compose, [...files, '--env-file', '/dev/null', 'config', '--quiet'], secrets);
    judge(`docker compose config: ${['base', ...set].join(' + ')}`, whole.code === 0, whole.output);
  }
  for (const pool of ['ollama', 'testbed']) {
    const files = ['compose.yaml', `compose.${pool}.yaml`].flatMap((name) => ['-f', join(docker, name)]);
    const merged = run(compose, [...files, '--env-file', '/dev/null', 'config', '--format', 'json'], secrets);
    judge(
      `docker compose mounts the pool of ${pool} in place of the base's`,
      mountsOnly(merged.made, pool),
      merged.output,
    );
  }
  const base = ['-f', join(docker, 'compose.yaml'), '--env-file', '/dev/null', 'config', '--quiet'];
  const open = run(compose, base, { ...secrets, FERMATA_TOKEN: '' });
  judge(
    'docker compose refuses to start without a token',
    open.code !== 0 && /FERMATA_TOKEN/.test(open.output),
    open.output,
  );
}

const mergedSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      volumes: z.array(z.object({ source: z.string().optional(), target: z.string() })).default([]),
    }),
  ),
});

function mountsOnly(text: string, pool: string): boolean {
  const { services } = mergedSchema.parse(JSON.parse(text));
  const sources = ['scheduler', 'worker', 'mcp-server'].map((name) =>
    services[name]?.volumes
      .filter(({ target }) => target === '/etc/fermata')
      .map(({ source }) => source ?? ''),
  );
  const right = sources.every((own) => own?.length === 1 && own[0]?.endsWith(join('docker', 'pools', pool)));
  return right && !('simulated-pool' in services);
}

async function checkChart(helm: string, kubeScore: string, venv: string): Promise<void> {
  const examples = readdirSync(join(docker, 'helm', 'examples')).map((name) =>
    join(docker, 'helm', 'examples', name),
  );
  const bare = run(helm, ['template', 'fermata', chart]);
  judge(
    'helm: without values it says what is needed',
    bare.code !== 0 && /is needed/.test(bare.output),
    bare.output,
  );
  const typo = run(helm, ['template', 'fermata', chart, '-f', examples[0] ?? '', '--set', 'proxy.replica=3']);
  judge('helm: a mistyped value is refused', typo.code !== 0 && /replica/.test(typo.output), typo.output);
  const folder = await mkdtemp(join(tmpdir(), 'fermata-chart-'));
  try {
    for (const example of examples) {
      const name = basename(example);
      const linted = run(helm, ['lint', '--strict', chart, '-f', example]);
      judge(`helm lint --strict: ${name}`, linted.code === 0, linted.output);
      const rendered = run(helm, ['template', 'fermata', chart, '--namespace', 'agents', '-f', example]);
      judge(`helm template: ${name}`, rendered.code === 0, rendered.output);
      if (rendered.code !== 0) continue;
      const path = join(folder, name);
      await writeFile(path, rendered.made);
      checkManifests(name, rendered.made);
      checkSchemas(venv, name, path);
      checkScore(kubeScore, name, path, example.includes('self-hosted'));
    }
    const packed = run(helm, ['package', chart, '--destination', folder]);
    judge('helm package', packed.code === 0, packed.output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function checkManifests(name: string, text: string): void {
  const manifests = parseAllDocuments(text)
    .map((document): unknown => document.toJS())
    .filter((value) => value !== null)
    .map((value) => manifestSchema.parse(value));
  const findings = findingsOf(manifests);
  judge(
    `${manifests.length} manifests as the services have it: ${name}`,
    findings.length === 0,
    findings.join('\n'),
  );
}

function checkSchemas(venv: string, name: string, path: string): void {
  for (const version of kubernetesVersions) {
    // Its own command names the folder that the environment was made in.
    const program = join(venv, 'bin', 'python');
    const { output } = run(program, ['-m', 'kubernetes_validate', '--strict', '-k', version, path]);
    const lines = output.split('\n').filter((line) => line.trim() !== '');
    const passed = lines.filter((line) => line.startsWith('INFO'));
    const rest = lines.filter((line) => !line.startsWith('INFO') && !foreignKinds.test(line));
    judge(`Kubernetes ${version}: ${name}`, rest.length === 0 && passed.length > 10, rest.join('\n'));
  }
}

/** @param policies whether the example has network policies. */
function checkScore(kubeScore: string, name: string, path: string, policies: boolean): void {
  const { output } = run(kubeScore, ['score', '--output-format', 'ci', path]);
  const accepted = policies ? meant : [...meant, 'does not have a matching NetworkPolicy'];
  const lines = output.split('\n').filter((line) => /^\[(CRITICAL|WARNING)\]/.test(line));
  const rest = lines.filter((line) => !accepted.some((words) => line.includes(words)));
  judge(`kube-score: ${name}`, rest.length === 0 && output.includes('[OK]'), rest.join('\n'));
}

async function checkServerJson(venv: string): Promise<void> {
  const server = JSON.parse(readFileSync(join(root, 'server.json'), 'utf8')) as { readonly $schema: string };
  const version = /\/schemas\/([\d-]+)\//.exec(server.$schema)?.[1] ?? '';
  const [python = ''] = readdirSync(join(venv, 'lib'));
  const schemas = join(venv, 'lib', python, 'site-packages', 'skillsaw', 'schemas', 'mcp_registry');
  const path = join(schemas, `v${version.replaceAll('-', '_')}`, 'server.schema.json');
  if (!existsSync(path))
    return judge(`server.json: the registry's schema of ${version}`, false, `${path} is not there`);
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as object);
  judge(
    `server.json: the registry's schema of ${version}`,
    validate(server),
    ajv.errorsText(validate.errors),
  );
}

try {
  const venv = await ensureWheels(stateDir, say);
  checkDockerfile(venv);
  await checkServerJson(venv);
  checkCompose(await ensureGoTool(stateDir, 'docker-compose', say));
  const helm = await ensureGoTool(stateDir, 'helm', say);
  await checkChart(helm, await ensureGoTool(stateDir, 'kube-score', say), venv);
} catch (error) {
  faults.push(error instanceof Error ? error.message : String(error));
}
for (const fault of faults) console.error(`\n${fault}`);
console.log(faults.length === 0 ? 'nothing is wrong' : `${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
