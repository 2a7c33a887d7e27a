/**
 * The ports of fermata's services: free, ours, or somebody else's; and, of those that run, whether they are
 * ready, of this version, take this token, and have the configuration in force.
 */
import { createServer } from 'node:net';
import { z } from 'zod';
import { configViewSchema } from '../../contracts/config-status.ts';
import type { Settings } from '../../contracts/settings.ts';
import { askHttp } from './ask-http.ts';
import type { Checked } from './engine-checks.ts';
import { fault, note, ok, warning, type Finding } from './finding.ts';

type ServiceName = 'scheduler' | 'proxy' | 'worker' | 'mcp-server';

interface Service {
  readonly name: ServiceName;
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly setting: string;
  /** Stands in its metrics, and in nobody else's. */
  readonly mark: string;
}

function localServices({ host, ports }: Settings): readonly Service[] {
  const of = (name: ServiceName, port: number, setting: string, mark: string): Service => ({
    name,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    host,
    port,
    setting,
    mark,
  });
  return [
    of('scheduler', ports.scheduler, 'FERMATA_SCHEDULER_PORT', 'fermata_scheduler_'),
    of('proxy', ports.proxy, 'FERMATA_PROXY_PORT', 'fermata_proxy_'),
    of('worker', ports.worker, 'FERMATA_WORKER_PORT', 'fermata_worker_'),
    of('mcp-server', ports.mcp, 'FERMATA_MCP_PORT', 'fermata_mcp_'),
  ].filter(({ port }) => port !== 0);
}

export interface CheckedServices extends Checked {
  /** Names of those that run here. */
  readonly running: readonly ServiceName[];
}

export async function checkServices(settings: Settings): Promise<CheckedServices> {
  const checked = await Promise.all(localServices(settings).map(checkService));
  const running = checked.flatMap(({ running: name }) => name ?? []);
  return {
    running,
    findings: checked.flatMap(({ findings }) => findings),
    clocks: checked.flatMap(({ clocks }) => clocks),
  };
}

async function checkService(service: Service): Promise<Checked & { readonly running: ServiceName | null }> {
  const { name, url, port, setting, mark } = service;
  const subject = `port ${port}`;
  if (await isFree(service)) {
    return { running: null, findings: [note(subject, `free; no ${name} runs there`)], clocks: [] };
  }
  const metrics = await askHttp(`${url}/metrics`);
  if (!metrics.text.includes(mark)) {
    const findings = [
      fault(
        subject,
        `another program has it, and ${name} cannot start there (${setting})`,
        `stop what listens there, or set ${setting} to another port`,
      ),
    ];
    return { running: null, findings, clocks: [] };
  }
  const ready = await askHttp(`${url}/readyz`);
  const clocks = ready.skewMs === null ? [] : [{ whose: name, skewMs: ready.skewMs }];
  return { running: name, findings: [readinessFinding(name, url, ready)], clocks };
}

const standbySchema = z.object({ reasons: z.array(z.string()) });

function readinessFinding(
  name: ServiceName,
  url: string,
  ready: Awaited<ReturnType<typeof askHttp>>,
): Finding {
  if (ready.status === 200) return ok(name, `runs at ${url}, ready`);
  const told = standbySchema.safeParse(parseJson(ready.text));
  // Not being ready is what a standby is for.
  const standby = told.success
    ? told.data.reasons.find((reason) => /^standby of \S+$/.test(reason))
    : undefined;
  if (standby !== undefined) return ok(name, `runs at ${url}, ${standby}`);
  const says = `runs at ${url}, but is not ready: ${ready.text.slice(0, 500)}`;
  return fault(name, says, 'mend what it misses; its log says more');
}

async function isFree({ host, port }: Service): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

const meSchema = z.looseObject({ caller: z.string(), version: z.string() });

/** What the mcp-server says of us and of its configuration. */
export async function checkDoor(url: string, token: string | null, version: string): Promise<Checked> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const me = await askHttp(`${url}/api/me`, headers);
  if (me.status === null) {
    const says = `no fermata answers at ${url} (${me.trouble ?? 'unknown'})`;
    return {
      findings: [fault('mcp-server', says, 'start it, or correct --url or FERMATA_MCP_URL')],
      clocks: [],
    };
  }
  const clocks = me.skewMs === null ? [] : [{ whose: `mcp-server at ${url}`, skewMs: me.skewMs }];
  if (me.status === 401) {
    const says =
      token === null
        ? 'it wants a token, and FERMATA_TOKEN is not set'
        : 'it does not know the token in FERMATA_TOKEN';
    return {
      findings: [fault('token', says, 'set FERMATA_TOKEN to a token of this installation (docs/auth.md)')],
      clocks,
    };
  }
  const parsed = meSchema.safeParse(parseJson(me.text));
  if (!parsed.success) {
    const says = `what answers at ${url} is not fermata (HTTP ${me.status})`;
    return { findings: [fault('mcp-server', says, 'correct --url or FERMATA_MCP_URL')], clocks };
  }
  const config = await askHttp(`${url}/api/config`, headers);
  return {
    findings: [
      ok('token', `you are '${parsed.data.caller}' at ${url}`),
      parsed.data.version === version
        ? ok('version', version)
        : warning(
            'version',
            `the server is ${parsed.data.version}, this command ${version}`,
            'use the same version of both',
          ),
      ...configFindings(parseJson(config.text)),
    ],
    clocks,
  };
}

function configFindings(body: unknown): Finding[] {
  const parsed = configViewSchema.safeParse(body);
  if (!parsed.success) return [];
  return parsed.data.services.flatMap(({ service, config }) =>
    (config?.fault?.lines ?? []).map((line) =>
      fault(
        'configuration',
        `${service} goes on with the configuration before: ${config?.source ?? ''}: ${line}`,
        'mend this line of the file; it is read again by itself',
      ),
    ),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
