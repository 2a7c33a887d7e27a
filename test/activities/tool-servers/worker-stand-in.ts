/** A process that holds tool servers as a worker does, until it is ended: `node --import tsx … CONFIG`. */
import { pino } from 'pino';
import { createToolRegistry } from '../../../activities/tool-servers/tool-registry.ts';
import type { ToolServers } from '../../../contracts/config-file.ts';

const servers = JSON.parse(process.argv[2] ?? '{}') as ToolServers;
const registry = createToolRegistry(servers, { logger: pino({ level: 'silent' }) });
const { tools, warnings } = await registry.list(null, new AbortController().signal);
process.stdout.write(`${JSON.stringify({ tools: tools.length, warnings })}\n`);
// Its connections do not keep it alive by themselves.
setInterval(() => undefined, 1_000);
