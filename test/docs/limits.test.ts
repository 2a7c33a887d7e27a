/** The documentation of limits has every limit of the code, and reads each where it stands. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { limits } from '../../scripts/reference/limit-tables.ts';
import { limitText } from '../../scripts/reference/limit-value.ts';

const root = resolve(import.meta.dirname, '..', '..');
const folders = [
  'contracts',
  'scheduler',
  'proxy',
  'activities',
  'mcp-server',
  'workflows',
  'auth',
  'config',
];

/** Names by which our code calls a bound. */
const bound =
  /^(?:export )?const ((?:max|most|longest|largest|kept)[A-Z]\w*|\w+(?:Limit|LimitBytes)) = [\d_ *]+;/gm;

/** Bounds of what is shown or looked into, at which a text or a list becomes shorter, and numbers that bound nothing. */
const besides: readonly string[] = [
  'activities/describe-runs.ts sideBySide',
  'activities/tool-calls/coerce-arguments.ts mostBranches',
  'activities/tool-calls/describe-shape.ts longestShape',
  'activities/tool-calls/engine-rules.ts longestNote',
  'activities/tool-calls/engine-rules.ts longestPattern',
  'activities/tool-calls/engine-rules.ts mostRepetitions',
  'activities/tool-calls/engine-schema.ts mostBranches',
  'activities/tool-calls/json-schema.ts mostHops',
  'activities/tool-calls/tool-names.ts longestName',
  'activities/tool-calls/unknown-tool.ts mostHints',
  'activities/tool-calls/unknown-tool.ts mostListed',
  'activities/tool-calls/unwrap-arguments.ts mostWrappings',
  'activities/tool-servers/call-failure.ts longestMessageBytes',
  'activities/tool-servers/first-lines.ts longestLine',
  'activities/tool-servers/first-lines.ts mostLines',
  'activities/tool-servers/tool-list.ts mostQuestions',
  'activities/live-route.ts longestWaitMs',
  'auth/log-serializers.ts maxDepth',
  'config/file-watch.ts longestUnsettledLooks',
  'contracts/config-file.ts largestMaxRunning',
  'contracts/lease-setting.ts longestName',
  'mcp-server/api/api-caller.ts maxCallerLength',
  'mcp-server/api/live-route.ts maxWaitSeconds',
  'mcp-server/mcp/answer-call.ts mostNamed',
  'mcp-server/mcp/approval-form.ts maxQuestions',
  'mcp-server/mcp/argument-words.ts maxFaults',
  'mcp-server/mcp/argument-words.ts maxNames',
  'mcp-server/mcp/await-asking.ts maxNotes',
  'mcp-server/mcp/caller.ts maxCallerBytes',
  'mcp-server/mcp/ask-client.ts longestMs',
  'mcp-server/mcp/task-methods.ts maxAnswers',
  'mcp-server/page/kept-page.ts keptPages',
  'mcp-server/runs/run-feed.ts keptArguments',
  'mcp-server/runs/temporal-link.ts keptForMs',
  'mcp-server/runs/temporal-link.ts keptLimitMs',
  'scheduler/core/latency-limit.ts firstLimit',
  'scheduler/core/pause-statistics.ts mostKeptMs',
  'scheduler/core/returns.ts mostEnds',
  'workflows/continue-run.ts longestHistory',
  'workflows/run-tree/run-ends.ts lookUpLimit',
  'workflows/run-tree/run-ends.ts longestWaitMs',
];

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return path.endsWith('.ts') ? [relative(root, path)] : [];
  });
}

describe('the limits of the documentation', () => {
  it('are all that the code has', () => {
    const documented = new Set(
      Object.values(limits)
        .flat()
        .map(({ file, name }) => `${file} ${name}`),
    );
    const missing = folders
      .flatMap((folder) => sources(join(root, folder)))
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(bound)].map(([, name = '']) => `${file} ${name}`),
      )
      .filter((each) => !documented.has(each) && !besides.includes(each));
    expect(missing).toEqual([]);
  });

  it('name each once, and say what happens at it', () => {
    for (const rows of Object.values(limits)) {
      const whats = rows.map(({ what }) => what);
      expect(whats.filter((what, index) => whats.indexOf(what) !== index)).toEqual([]);
      expect(rows.filter(({ atIt }) => atIt.trim() === '')).toEqual([]);
    }
  });

  it('are read from the code in the unit of their name', () => {
    expect(limitText('scheduler/core/limits.ts', 'runIdleMs')).toBe('30 min');
    expect(limitText('scheduler/core/limits.ts', 'resyncGraceMs')).toBe('1.5 s');
    expect(limitText('scheduler/host/link-server.ts', 'maxMessageBytes')).toBe('256 MiB');
    expect(limitText('proxy/limits.ts', 'redisAnswerMs', 'defaultLimits')).toBe('100 ms');
    expect(limitText('workflows/activity-stubs.ts', 'heartbeatTimeout')).toBe('10 s');
    expect(() => limitText('scheduler/core/limits.ts', 'maxWishes')).toThrow("no value 'maxWishes'");
  });
});
