// A tool server over stdin and stdout that does what its first argument scripts, and answers JSON-RPC by
// hand, so that a test sees exactly what the client sends: every line goes to the file named by `log`.
//
//   log             file that JSON lines are appended to
//   banner          lines written to stdout at the start
//   noise           lines written to stdout before each answer
//   stderrBytes     bytes written to stderr at the start
//   exitAtStart     exit code; nothing is answered
//   exitOnList      exits at tools/list
//   silent          methods that get no answer
//   versions        protocol versions; the first is answered where the client's is not among them
//   tools, pages    what tools/list answers: one page, or pages by cursor
//   endlessPages    each page has a tool and a cursor that was never there before
//   manyTools       so many tools on one page
//   lists           what the n-th tools/list does: {tools, hold?, release?, notices?}; the last one repeats
//   listChanged     declares it, and announces a change after each list
//   declaresChanges declares it only
//   ask             requests sent to the client at a call, which is answered when all of them are
//   onCall          by tool: {resultAfterMs?, progressEveryMs?, resultBytes?, result?, error?, exit?, block?}
//   ignoreTerm, ignoreStdinEnd, grandchild   what makes a process hard to end
import { spawn } from 'node:child_process';
import { appendFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const script = JSON.parse(process.argv[2] ?? '{}');
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const send = (message) => {
  for (const line of script.noise ?? []) process.stdout.write(`${line}\n`);
  write(message);
};
const record = (entry) => script.log && appendFileSync(script.log, `${JSON.stringify(entry)}\n`);
const changed = () => write({ method: 'notifications/tools/list_changed' });

record({ started: process.pid });
if (script.ignoreTerm) process.on('SIGTERM', () => {});
if (script.ignoreStdinEnd) setInterval(() => {}, 1000);
if (script.grandchild) {
  const code = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)';
  const child = spawn(process.execPath, ['-e', code], { stdio: 'ignore' });
  child.unref();
  record({ grandchild: child.pid });
}
for (const line of script.banner ?? []) process.stdout.write(`${line}\n`);
if (script.stderrBytes)
  for (let left = script.stderrBytes; left > 0; left -= 1000) writeSync(2, 'e'.repeat(1000));
if (script.exitAtStart !== undefined) {
  process.stderr.write('cannot read its own settings\n');
  process.exit(script.exitAtStart);
}

let lists = 0;
const held = [];
function answerList(id, params) {
  if (script.exitOnList) process.exit(1);
  const tool = (name) => ({ name, inputSchema: { type: 'object' } });
  if (script.endlessPages) {
    const page = Number(params?.cursor ?? 0);
    return send({ id, result: { tools: [tool(`t${page}`)], nextCursor: `${page + 1}` } });
  }
  if (script.manyTools) {
    const tools = Array.from({ length: script.manyTools }, (_unused, index) => tool(`t${index}`));
    return send({ id, result: { tools } });
  }
  if (script.lists === undefined) {
    send({ id, result: script.pages?.[params?.cursor ?? ''] ?? { tools: script.tools ?? [] } });
    if (script.listChanged) changed();
    return;
  }
  const step = script.lists[Math.min(lists, script.lists.length - 1)];
  lists += 1;
  const answer = { jsonrpc: '2.0', id, result: { tools: step.tools } };
  const notice = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const said = step.hold ? [] : [answer];
  if (step.hold) held.push(answer);
  if (step.release) said.push(...held.splice(0));
  said.push(...Array.from({ length: step.notices ?? 0 }, () => notice));
  // In one write, so that a burst of notices comes as one.
  process.stdout.write(said.map((message) => `${JSON.stringify(message)}\n`).join(''));
}

const asked = new Map();
function answerCall(id, params) {
  const step = script.onCall?.[params.name] ?? {};
  if (step.exit) process.exit(1);
  if (step.block) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  const progressToken = params._meta?.progressToken;
  const timer = step.progressEveryMs
    ? setInterval(
        () => send({ method: 'notifications/progress', params: { progressToken, progress: 1 } }),
        step.progressEveryMs,
      )
    : undefined;
  const text = 'ok'.padEnd(step.resultBytes ?? 2, 'x');
  const result = step.result ?? { content: [{ type: 'text', text }] };
  const finish = () => {
    clearInterval(timer);
    if (step.error) send({ id, error: step.error });
    else send({ id, result });
  };
  if (script.ask) {
    for (const request of script.ask) asked.set(request.id, null);
    asked.done = finish;
    for (const request of script.ask) send(request);
  } else if (step.error || step.result) finish();
  else if (step.resultAfterMs !== undefined) setTimeout(finish, step.resultAfterMs);
}

function initializeResult(wanted) {
  const versions = script.versions ?? [wanted];
  return {
    protocolVersion: versions.includes(wanted) ? wanted : versions[0],
    capabilities: { tools: { listChanged: Boolean(script.listChanged ?? script.declaresChanges) } },
    serverInfo: { name: 'scripted', version: '1' },
  };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  record(message);
  const { id, method, params } = message;
  if (script.silent?.includes(method)) return;
  if (method === undefined) {
    asked.delete(id);
    if (asked.size === 0) asked.done?.();
  } else if (method === 'initialize') send({ id, result: initializeResult(params.protocolVersion) });
  else if (method === 'ping') send({ id, result: {} });
  else if (method === 'tools/list') answerList(id, params);
  else if (method === 'tools/call') answerCall(id, params);
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'no such method' } });
});
