import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureClusterPrograms } from '../../../cli/setup/cluster-programs.ts';
import { SetupFault } from '../../../cli/setup/setup-fault.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-programs-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A program in a folder of its own. @returns the folder. */
async function program(place: string, script: string, ...names: readonly string[]): Promise<string> {
  const path = join(folder, place);
  await mkdir(path, { recursive: true });
  for (const name of names) {
    await writeFile(join(path, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(path, name), 0o755);
  }
  return path;
}

/** Nothing but what a test has put there is found. */
async function ensure(...path: readonly string[]) {
  const progress: string[] = [];
  const found = await ensureClusterPrograms(
    join(folder, 'state'),
    path.join(':'),
    (line) => progress.push(line),
    { go: join(folder, 'none'), postgres: join(folder, 'debian') },
  );
  return { found, progress };
}

async function faultOf(work: Promise<unknown>): Promise<string> {
  const fault = await work.then(
    () => null,
    (error: unknown) => error,
  );
  expect(fault).toBeInstanceOf(SetupFault);
  const { message } = fault as SetupFault;
  expect(message).not.toContain('\n');
  return message;
}

/** As `go install` does it: the last word of the package is the program. */
const builds = 'for package in "$@"; do :; done; name=${package%@*}; touch "$GOBIN/${name##*/}"';

describe('the programs of a cluster', () => {
  it('that are missing are named, with what to install', async () => {
    expect(await faultOf(ensure())).toMatch(/PostgreSQL is needed .*apt-get install postgresql/);
    const postgres = await program('postgres', '', 'postgres', 'initdb');
    expect(await faultOf(ensure(postgres))).toMatch(/Go 1\.26\.8 or later is needed .*go\.dev\/dl/);
  });

  it('are built once, and found from then on', async () => {
    const postgres = await program('postgres', '', 'postgres', 'initdb');
    const go = await program('go', builds, 'go');
    const { found, progress } = await ensure(postgres, go);
    expect(progress).toEqual([expect.stringMatching(/^building Temporal's server .* \(once/)]);
    expect(found).toMatchObject({ postgres: join(postgres, 'postgres'), initdb: join(postgres, 'initdb') });
    expect([existsSync(found.server), existsSync(found.sqlTool)]).toEqual([true, true]);
    expect(await ensure(postgres)).toEqual({ found, progress: [] });
  });

  it('leave nothing behind when they cannot be built, and say why', async () => {
    const postgres = await program('postgres', '', 'postgres', 'initdb');
    const go = await program('go', 'echo "go: needs go >= 1.26.8"; exit 1', 'go');
    expect(await faultOf(ensure(postgres, go))).toMatch(/could not be built .*needs go >= 1\.26\.8/);
    expect(await readdir(join(folder, 'state', 'tools'))).toEqual([]);
  });

  it('come from PATH where they are, and PostgreSQL from where Debian keeps it, the newest', async () => {
    await program('debian/9/bin', '', 'postgres', 'initdb');
    const newest = await program('debian/17/bin', '', 'postgres', 'initdb');
    const released = await program('released', '', 'temporal-server', 'temporal-sql-tool');
    expect((await ensure(released)).found).toEqual({
      server: join(released, 'temporal-server'),
      sqlTool: join(released, 'temporal-sql-tool'),
      postgres: join(newest, 'postgres'),
      initdb: join(newest, 'initdb'),
    });
  });
});
