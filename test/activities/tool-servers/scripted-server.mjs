// A tool server over stdin and stdout that says what its first argument scripts:
// {banner?, pages?, tools?, listChanged?, silent?, onCall?, ignoreTerm?, ignoreStdinEnd?, grandchild?}. It answers JSON-RPC by hand, so that a
// test sees exactly what the client sends: every line goes to the file named by `log`.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const script = JSON.parse(process.argv[2] ?? '{}');
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const record = (entry) => script.log && appendFileSync(script.log, `${JSON.stringify(entry)}\n`);

record({ started: process.pid });
for (const line of script.banner ?? []) process.stdout.write(`${line}\n`);
if (script.grandchild) {
  const child = spawn(
    process.execPath,
    ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'],
    {
      stdio: 'ignore',
    },
  );
  record({ grandchild: child.pid });
}
if (script.ignoreTerm) process.on('SIGTERM', () => {});
const keepAlive = script.ignoreStdinEnd ? setInterval(() => {}, 1000) : undefined;
void keepAlive;

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  record(message);
  const { id, method, params } = message;
  if (script.silent?.includes(method)) return;
  if (method === 'initialize') {
    const listChanged = script.listChanged === true;
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged } },
        serverInfo: { name: 'scripted', version: '1' },
      },
    });
  } else if (method === 'tools/list') {
    const page = script.pages?.[params?.cursor ?? ''] ?? { tools: script.tools ?? [] };
    send({ id, result: page });
    if (script.listChanged) send({ method: 'notifications/tools/list_changed' });
  } else if (method === 'tools/call') {
    const step = script.onCall?.[params.name] ?? {};
    if (step.exit) process.exit(1);
    const token = params._meta?.progressToken;
    const timer = step.progressEveryMs
      ? setInterval(
          () => send({ method: 'notifications/progress', params: { progressToken: token, progress: 1 } }),
          step.progressEveryMs,
        )
      : undefined;
    if (step.error) send({ id, error: step.error });
    else if (step.resultAfterMs !== undefined) {
      setTimeout(() => {
        clearInterval(timer);
        send({ id, result: { content: [{ type: 'text', text: 'ok'.padEnd(step.resultBytes ?? 2, 'x') }] } });
      }, step.resultAfterMs);
    }
  } else if (method === 'notifications/cancelled') {
    // Recorded above.
  } else if (id !== undefined) send({ id, error: { code: -32601, message: 'no such method' } });
});
