/**
 * The fake tool server over stdin and stdout:
 * `node --import tsx testkit/tool-server/stdio-main.ts [--call-log PATH] [--delay-scale NUMBER]
 * [--newest-only]`; with the last it refuses clients that begin in a protocol before 2026-07-28. Ends when its stdin closes, whatever its tools are doing.
 */
import { parseArgs } from 'node:util';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createCallLog } from './call-log.ts';
import { createToolMcpServer } from './tool-mcp-server.ts';

const { values } = parseArgs({
  options: {
    'call-log': { type: 'string' },
    'delay-scale': { type: 'string', default: '1' },
    'newest-only': { type: 'boolean', default: false },
  },
});
const delayScale = Number(values['delay-scale']);
if (!(delayScale >= 0)) {
  console.error(`--delay-scale: got '${values['delay-scale']}', expected a number of at least 0`);
  process.exit(1);
}
const log = createCallLog(values['call-log'] ?? null);
serveStdio(() => createToolMcpServer({ log, delayScale }), {
  legacy: values['newest-only'] ? 'reject' : 'serve',
});
process.stdin.once('close', () => {
  process.exit(0);
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    process.exit(0);
  });
}
