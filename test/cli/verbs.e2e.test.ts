import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTestStack, type TestStack } from '../stack/start-test-stack.ts';
import { runFermata, type Ended, type RunOptions } from './run-fermata.ts';
import { runInProcess } from './run-in-process.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(async () => await stack?.close());

async function fermata(words: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const environment = {
    FERMATA_MCP_URL: stack.mcpUrl,
    FERMATA_PROXY_URL: stack.proxyUrl,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    ...options.environment,
  };
  return await runInProcess(words, { ...options, environment });
}

/** The task of a run that the simulated engine carries out as written. */
function scripted(words: string, calls: readonly (readonly object[])[], answer = 'Done.'): string {
  return `${words} [[sim ${JSON.stringify({ calls, answer })}]]`;
}

const deletion = { tool: 'delete_page', arguments: { page: 'Home' } };

describe('a run from the command line', () => {
  it('is started, awaited, and told of in JSON', async () => {
    const task = scripted(
      'Look it up.',
      [[{ tool: 'lookup', arguments: { topic: 'Po' } }]],
      'It ends in the sea.',
    );
    const spawned = await fermata(['spawn', task, '--class', 'batch', '--request-id', 'cli-1']);
    expect(spawned.code).toBe(0);
    const { handle, existing } = JSON.parse(spawned.stdout);
    expect(existing).toBe(false);
    const awaited = await fermata(['await', handle, '--timeout', '60']);
    expect(awaited.code).toBe(0);
    expect(JSON.parse(awaited.stdout)).toMatchObject({
      handle,
      status: 'Completed',
      class: 'batch',
      result: 'It ends in the sea.',
      counters: { turns: 2, toolCalls: 1 },
    });
    const again = await fermata(['spawn', task, '--class', 'batch', '--request-id', 'cli-1']);
    expect(JSON.parse(again.stdout)).toMatchObject({ handle, existing: true });

    const transcript = await fermata(['transcript', handle, '--no-json']);
    expect(transcript.stdout).toMatch(
      /^0 user\n[^]*→ web__lookup \{"topic":"Po"\}[^]*It ends in the sea\.\n$/,
    );
    const tree = await fermata(['tree', handle]);
    expect(JSON.parse(tree.stdout)).toMatchObject({ root: handle, runs: [{ handle, depth: 1 }] });
    const status = await fermata(['status', handle, '--no-json']);
    expect(status.stdout).toContain('Completed');
    expect(status.stdout).toContain('2 turns, 1 tool call (0 failed)');
  });

  it('prints its answer alone with run, and takes the task from standard input', async () => {
    const ran = await fermata(['run', '-', '--no-json'], {
      stdin: scripted('Say it.', [], 'The whole answer.'),
    });
    expect(ran).toEqual({ code: 0, stdout: 'The whole answer.\n', stderr: '' });
  });

  it('exits with 3 when it fails, and says why', async () => {
    const ran = await fermata(['run', 'Say it.', '--budget-tokens', '1', '--no-json']);
    expect(ran.code).toBe(3);
    expect(ran.stdout).toMatch(/Cancelled[^]*budget exceeded: tokens/);
  });

  it('exits with 4 when time is up, and goes on', async () => {
    const task = scripted('Wait.', [[{ tool: 'wait', arguments: { milliseconds: 600_000 } }]]);
    const ran = await fermata(['run', task, '--timeout', '1']);
    expect(ran).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^time is up; nothing is lost: fermata await run_\w{22}\n$/),
    });
    const { handle } = JSON.parse(ran.stdout);
    const cancelled = await fermata(['cancel', handle, '--reason', 'enough', '--no-json']);
    expect(cancelled).toMatchObject({ code: 0, stdout: '1 run asked to end\n' });
    const awaited = await fermata(['await', handle]);
    expect(awaited.code).toBe(3);
    expect(JSON.parse(awaited.stdout)).toMatchObject({
      status: 'Cancelled',
      reason: expect.stringContaining('enough'),
    });
  });

  it('exits with 5 when it waits for approval, with the words that allow it, and is decided once', async () => {
    const ran = await fermata(['spawn', scripted('Delete it.', [[deletion]], 'Gone.'), '--await']);
    expect(ran.code).toBe(5);
    const { handle, pendingApprovals } = JSON.parse(ran.stdout);
    const [{ id }] = pendingApprovals;
    expect(ran.stderr).toContain(`allow:   fermata approve ${handle} ${id}`);
    const approved = await fermata(['approve', handle, '--no-json']);
    expect(approved).toMatchObject({ code: 0, stdout: 'allowed: web__delete_page\n' });
    expect((await fermata(['await', handle])).code).toBe(0);
    const second = await fermata(['approve', handle, id, '--decline']);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^fermata: .*already decided/);
    expect(await fermata(['approve', handle])).toMatchObject({
      code: 1,
      stderr: `fermata: nothing of ${handle} waits for approval; it is Completed\n`,
    });
    expect(stack.tools.calls().tools['delete_page']?.started).toBe(1);
  });

  it('goes on when the one who waits for it presses Ctrl-C', async () => {
    const task = scripted('Wait.', [[{ tool: 'wait', arguments: { milliseconds: 600_000 } }]]);
    const { handle } = JSON.parse((await fermata(['spawn', task])).stdout);
    const watched = await runFermata(['status', '--watch', '--limit', '5'], {
      environment: { FERMATA_MCP_URL: stack.mcpUrl },
      onOutput: (_, signal) => signal('SIGINT'),
    });
    expect(watched.code).toBe(0);
    expect(JSON.parse(watched.stdout.split('\n')[0] ?? '')).toMatchObject({
      pool: { replicas: [{ id: 'sim-0', healthy: true }, { id: 'sim-1' }] },
      runs: expect.arrayContaining([expect.objectContaining({ handle, status: 'Running' })]),
    });
    await fermata(['cancel', handle]);
  });
});

describe('the other verbs', () => {
  it('list tools', async () => {
    const { tools } = JSON.parse((await fermata(['tools'])).stdout);
    expect(tools.map(({ name }: { name: string }) => name)).toContain('web__delete_page');
    expect((await fermata(['tools', '--no-json'])).stdout).toMatch(
      /web__delete_page +asks first +Deletes a page/,
    );
  });

  it('classify', async () => {
    const decided = await fermata(['decide', 'What a day.', '--labels', 'good, bad']);
    expect(JSON.parse(decided.stdout)).toMatchObject({ label: expect.stringMatching(/^(good|bad)$/) });
  });

  it('find nothing wrong with a stack that runs', async () => {
    const found = await fermata(['doctor']);
    const { findings } = JSON.parse(found.stdout);
    expect(
      findings.filter(
        ({ level, subject }: { level: string; subject: string }) =>
          level === 'fault' && !subject.startsWith('port '),
      ),
    ).toEqual([]);
    expect(findings).toContainEqual(expect.objectContaining({ subject: 'token', level: 'ok' }));
    expect(findings).toContainEqual(expect.objectContaining({ subject: 'temporal', level: 'ok' }));
  });

  it('load the pool with sub-agents, and with agents of their own', async () => {
    const spawned = await fermata(['loadgen', '--spawn', '4', '--task', scripted('Look up {n}.', [])]);
    expect(spawned.code).toBe(0);
    expect(JSON.parse(spawned.stdout)).toMatchObject({ runs: 4, byStatus: { Completed: 4 } });
    const words = ['--agents', '3', '--duration', '2s', '--pause', '50ms', '--turns', '2', '--caller', 'me'];
    const agents = await fermata(['loadgen', ...words]);
    expect(agents.code).toBe(0);
    const report = JSON.parse(agents.stdout);
    expect(report).toMatchObject({ model: 'sim-small', failures: {} });
    expect(report.runs).toBeGreaterThan(0);
    expect(report.heldMs.max).not.toBeNull();
    const { runs } = await stack.status();
    expect(runs.filter(({ run }) => run.includes('loadgen'))).toEqual([]);
  });

  it('set up a Temporal cluster, and change nothing the second time', async () => {
    const words = ['setup', 'temporal'];
    const { added, present } = JSON.parse((await fermata(words)).stdout);
    expect(new Set([...added, ...present])).toEqual(
      new Set(['FermataCaller', 'FermataClass', 'FermataParent', 'FermataRoot', 'FermataStatus']),
    );
    expect(JSON.parse((await fermata(words)).stdout)).toMatchObject({
      added: [],
      present: expect.any(Array),
    });
  });

  it('print a completion script', async () => {
    expect((await runFermata(['completion'])).stdout).toContain('_fermata_yargs_completions');
  });
});

describe('a wrong command line', () => {
  it.each([
    [['statsu'], /Did you mean status\?/],
    [[], /name a verb/],
    [['spawn'], /Not enough non-option arguments/],
    [['spawn', 'x', '--clas', 'batch'], /Unknown argument: clas/],
    [['spawn', 'x', '--class', 'fast'], /Invalid values/],
    [['loadgen'], /say --spawn N or --agents N/],
    [['loadgen', '--spawn', '2.5'], /--spawn: expected a whole number/],
    [['up', '--engine', 'simulated', '--config', 'x'], /give one of them/],
    [['status', '--url', 'here'], /--url: got 'here'/],
  ] as const)('%j exits with 2 and says what to write', async (words, says) => {
    const ended = await runInProcess(words);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(says);
  });

  it('or a server that is not there exits with 1 and says how to start one', async () => {
    // As a user's shell would: what it writes and its exit code are those of the process.
    const ended = await runFermata(['status', '--url', 'http://127.0.0.1:1']);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/no fermata answers at http:\/\/127\.0\.0\.1:1 .*npm start/);
  });

  it('or a run that is not there exits with 1', async () => {
    const ended = await fermata(['status', 'run_0000000000000000000000']);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/run_0000000000000000000000/);
  });
});
