/**
 * The `fermata` command: picks the verb, turns every expected failure into one readable line on stderr
 * and an exit code (0 done, 1 failed, 2 wrong usage).
 */
import { TokensFault } from '../auth/tokens-file.ts';
import { SettingsFault } from '../contracts/settings.ts';
import { mcp } from './mcp.ts';
import { SetupFault } from './setup/setup-fault.ts';
import { up, upUsage } from './up.ts';

type Verb = (
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
) => Promise<number>;

const verbs: Readonly<Record<string, Verb>> = { up, mcp };

const usage = `usage: fermata <up|mcp> [options]

${upUsage}

fermata mcp [--no-forms]
  serves MCP on stdin and stdout; FERMATA_PROXY_URL and TEMPORAL_ADDRESS say where the stack is
  --no-forms  ask nobody with forms: for a client that declares them where nobody sees them
`;

const [name = 'help', ...args] = process.argv.slice(2);
const verb = verbs[name];
if (verb === undefined || args.includes('--help')) {
  process.stderr.write(usage);
  process.exit(verb === undefined && name !== 'help' && name !== '--help' ? 2 : 0);
}
try {
  process.exit(await verb(args, process.env));
} catch (error) {
  const expected =
    error instanceof SetupFault || error instanceof SettingsFault || error instanceof TokensFault;
  process.stderr.write(`fermata: ${expected ? error.message : ((error as Error).stack ?? String(error))}\n`);
  process.exit(1);
}
