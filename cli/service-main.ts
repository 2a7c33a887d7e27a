/**
 * The entry point of the image (docker/Dockerfile): `scheduler`, `proxy`, `worker`, `mcp-server` or
 * `simulated-pool` becomes that service, `health` asks it, and anything else is a verb of `fermata`.
 * It is one process throughout: no shell, and no parent that signals would have to pass.
 */
import { askHealth } from './ask-health.ts';
import { nodeFlags } from './node-flags.ts';
import { isServiceName, type ServiceName } from './service-names.ts';

const entries: Readonly<Record<ServiceName, () => Promise<unknown>>> = {
  scheduler: async () => await import('../scheduler/host/main.ts'),
  proxy: async () => await import('../proxy/main.ts'),
  worker: async () => await import('../activities/main.ts'),
  'mcp-server': async () => await import('../mcp-server/main.ts'),
  'simulated-pool': async () => await import('../testkit/simulated-pool-main.ts'),
};

/** No turn passes through the MCP server, and many waits at once should cost it little memory. */
const carriesTurns = (service: ServiceName): boolean => service !== 'mcp-server';

/** Node.js 22.15 and later. */
type Execve = (file: string, args: readonly string[], environment: NodeJS.ProcessEnv) => never;

const [name, ...rest] = process.argv.slice(2);
if (isServiceName(name)) {
  if (carriesTurns(name)) becomeOneWithFlags();
  // Its own entry point reads what stands behind its name.
  process.argv.splice(2, 1);
  await entries[name]();
} else if (name === 'health') {
  const { code, says } = await askHealth(rest, process.env);
  process.stdout.write(`${says}\n`);
  process.exit(code);
} else {
  await import('./main.ts');
}

/** The same process again, with flags that Node.js takes at its start only. */
function becomeOneWithFlags(): void {
  const { execve } = process as { readonly execve?: Execve };
  const missing = nodeFlags.filter((flag) => !process.execArgv.includes(flag));
  if (execve === undefined || missing.length === 0) return;
  execve(
    process.execPath,
    [process.execPath, ...process.execArgv, ...missing, import.meta.filename, ...process.argv.slice(2)],
    process.env,
  );
}
