/** `fermata mcp` as a test starts it: address, task queue, proxy and forms from the command line. */
import { pino } from 'pino';
import { serveStdio } from '../../mcp-server/stdio.ts';

const [address = '', taskQueue = '', proxyUrl = '', forms = 'on'] = process.argv.slice(2);
const logger = pino({ level: 'debug' }, pino.destination(2));
const server = serveStdio(
  {
    temporal: { address, namespace: 'default' },
    taskQueue,
    proxyUrl,
    progressMs: 50,
    approvalLooks: { everyMs: 100 },
  },
  { logger, forms: forms === 'off' ? 'off' : 'on' },
);
await server.closed;
await server.close();
