/**
 * Records the histories that later builds must be able to replay, for the release in package.json:
 * `npx tsx scripts/record-histories.ts [--replace]`. It starts a Temporal server and a whole stack of its
 * own. Without `--replace` it refuses to touch a release that is recorded already: once released, a
 * history is never changed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundleWorkflows } from '../activities/bundle-workflows.ts';
import { ensureTemporalBinary } from '../cli/setup/temporal-binary.ts';
import { startTemporalServer } from '../cli/temporal-server.ts';
import { recordingTemporal, recordStates } from '../test/replay/recorder.ts';
import { runStates } from '../test/replay/run-states.ts';
import { historyText, machineTraces } from '../test/replay/scrub-history.ts';
import { historiesFolder, type StoredHistory } from '../test/replay/stored-histories.ts';

const root = resolve(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const target = join(historiesFolder, version);
const machineWords = [`@${hostname()}`, root, homedir(), tmpdir()].filter((word) => word.length > 3);

if (existsSync(target) && !process.argv.includes('--replace')) {
  console.error(
    `${target} exists: a release keeps its histories; --replace records them anew before it is out`,
  );
  process.exit(1);
}

const recorded: StoredHistory[] = [];
const folder = await mkdtemp(join(tmpdir(), 'fermata-record-'));
const binary = await ensureTemporalBinary(join(root, '.fermata'), process.env['PATH'] ?? '', (line) => {
  console.error(line);
});
const server = await startTemporalServer({
  binary,
  host: '127.0.0.1',
  port: 0,
  uiPort: null,
  databaseFile: null,
  dynamicConfig: recordingTemporal,
});
try {
  const workflowBundlePath = join(folder, 'workflows.js');
  await bundleWorkflows(workflowBundlePath);
  await recordStates({ temporalAddress: server.address, workflowBundlePath }, runStates, (history) => {
    const traces = machineTraces(history.events, machineWords);
    if (traces.length > 0) throw new Error(`${history.state} tells of this machine: ${traces.join(', ')}`);
    recorded.push(history);
    console.log(`${history.state}: ${history.events.length} events of ${history.workflowType}`);
  });
} finally {
  await server.close();
  await rm(folder, { recursive: true, force: true });
}
// Only when every state was reached.
await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
for (const { state, events } of recorded) await writeFile(join(target, `${state}.json`), historyText(events));
console.log(`${recorded.length} histories in ${target.slice(root.length + 1)}`);
process.exit(0);
