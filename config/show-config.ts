/** The configuration as it may be shown: no key, and nothing that may hold one. Pure. */
import type { ConfigFile, ToolServerConfig } from '../contracts/config-file.ts';
import type { ShownConfig } from '../contracts/config-status.ts';

export function showConfig({ pool, policy, tools, callers }: ConfigFile): ShownConfig {
  return {
    pool: pool.map(({ url, loadFrom, ...replica }) => ({
      ...replica,
      url: withoutSecrets(url),
      ...(loadFrom === undefined ? {} : { loadFrom: loadFrom.map(withoutSecrets) }),
    })),
    policy,
    toolServers: Object.fromEntries(
      Object.entries(tools.mcpServers).map(([name, server]) => [name, showToolServer(server)]),
    ),
    callers,
  };
}

function showToolServer(server: ToolServerConfig): ShownConfig['toolServers'][string] {
  const { idleTimeoutMs, totalTimeoutMs } = server;
  const limits = { idleTimeoutMs, totalTimeoutMs };
  if ('url' in server) {
    const { url, headers } = server;
    return { type: 'http', url: withoutSecrets(url), headers: Object.keys(headers), ...limits };
  }
  const { command, args, env } = server;
  return { type: 'stdio', command, args: args.length, env: Object.keys(env), ...limits };
}

/** Keys travel as user, password or query of an address. */
function withoutSecrets(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  url.search = '';
  url.hash = '';
  return url.href.replace(/\/+$/, '');
}
