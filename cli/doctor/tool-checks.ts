/** Lists the tools of each configured server as a worker would, and ends what it had to start for it. */
import { pino } from 'pino';
import { createToolRegistry } from '../../activities/tool-servers/tool-registry.ts';
import type { ToolServers } from '../../contracts/config-file.ts';
import { fault, ok, type Finding } from './finding.ts';

/** The registry waits 5 s for a server. */
const limitMs = 10_000;

export async function checkToolServers(servers: ToolServers): Promise<readonly Finding[]> {
  return await Promise.all(
    Object.entries(servers).map(async ([name, config]) => await checkServer(name, { [name]: config })),
  );
}

async function checkServer(name: string, servers: ToolServers): Promise<Finding> {
  const subject = `tool server ${name}`;
  const registry = createToolRegistry(servers, { logger: pino({ level: 'silent' }) });
  try {
    const { tools, warnings } = await registry.list(null, AbortSignal.timeout(limitMs));
    const trouble = warnings[0];
    return trouble === undefined
      ? ok(subject, `${tools.length} tools`)
      : fault(subject, trouble, remedyOf(servers[name]));
  } catch (error) {
    return fault(subject, (error as Error).message, remedyOf(servers[name]));
  } finally {
    await registry.close();
  }
}

function remedyOf(config: ToolServers[string] | undefined): string {
  return config !== undefined && 'command' in config
    ? 'start its command by hand and read what it says; runs go on without its tools meanwhile'
    : 'see that it runs and that its url is right; runs go on without its tools meanwhile';
}
