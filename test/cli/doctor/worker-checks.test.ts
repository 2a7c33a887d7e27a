import { describe, expect, it } from 'vitest';
import { judgeWorkers } from '../../../cli/doctor/worker-checks.ts';

const old = { name: 'fermata', buildId: '1.4.0' };
const fresh = { name: 'fermata', buildId: '1.5.0' };

describe('what doctor says of the workers', () => {
  it('is that all is well where those poll that new runs go to', () => {
    expect(judgeWorkers('q', { current: null, hasUnversioned: true, builds: [] }, [])).toMatchObject([
      { level: 'ok', says: "unversioned ones take work on task queue 'q'" },
    ]);
    expect(
      judgeWorkers('q', { current: fresh, hasUnversioned: false, builds: [old, fresh] }, []),
    ).toMatchObject([{ level: 'ok', says: expect.stringContaining('build 1.5.0 of fermata is current') }]);
  });

  it('is a warning where nobody polls', () => {
    const [finding, ...rest] = judgeWorkers('q', { current: null, hasUnversioned: false, builds: [] }, []);
    expect(finding).toMatchObject({ level: 'warning', says: expect.stringContaining("task queue 'q'") });
    expect(rest).toEqual([]);
  });

  it('names the command where workers of a build poll and none is current', () => {
    const found = judgeWorkers('q', { current: null, hasUnversioned: false, builds: [fresh] }, []);
    expect(found).toMatchObject([
      {
        level: 'fault',
        says: expect.stringContaining('no build is current: new runs wait'),
        remedy: expect.stringContaining('fermata versions --deployment fermata --set-current 1.5.0'),
      },
    ]);
  });

  it('names the current build that has no workers, and one that has', () => {
    const found = judgeWorkers('q', { current: fresh, hasUnversioned: true, builds: [old] }, []);
    expect(found).toMatchObject([
      {
        level: 'fault',
        says: expect.stringContaining('build 1.5.0 of fermata is current and has no worker'),
        remedy: expect.stringContaining('--set-current 1.4.0'),
      },
    ]);
  });

  it('counts the runs that stand still on a build without workers', () => {
    const polled = { current: fresh, hasUnversioned: false, builds: [fresh] };
    const found = judgeWorkers('q', polled, [{ version: old, openRuns: 3 }]);
    expect(found).toMatchObject([
      {
        level: 'fault',
        says: '3 open runs are pinned to build 1.4.0 of fermata, which has no worker: they stand still',
      },
    ]);
  });
});
