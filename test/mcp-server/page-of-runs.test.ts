import { describe, expect, it } from 'vitest';
import type { Caller } from '../../contracts/ids.ts';
import { queryFor } from '../../mcp-server/runs/page-of-runs.ts';

const admin = { caller: 'ops' as Caller, seesAll: true };
const ann = { caller: 'ann' as Caller, seesAll: false };
const all = `WorkflowType = 'agent-run' AND ExecutionStatus != 'ContinuedAsNew'`;

describe('the question to Temporal\u2019s list', () => {
  it('is for all runs of an admin, and for one\u2019s own of everyone else', () => {
    expect(queryFor({}, admin)).toBe(all);
    expect(queryFor({}, ann)).toBe(`${all} AND FermataCaller = 'ann'`);
  });

  it('keeps to one\u2019s own whatever the filter says', () => {
    const query = queryFor({ caller: "x' OR FermataCaller != 'x", statuses: ['Running'] }, ann);
    expect(query).toContain(`AND FermataCaller = 'ann' AND FermataCaller = 'x\\' OR FermataCaller != \\'x'`);
  });

  it('counts as failed what Temporal ended by force, whatever the run said of itself last', () => {
    expect(queryFor({ statuses: ['Failed'] }, admin)).toContain(
      `(ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut'))`,
    );
    expect(queryFor({ statuses: ['AwaitingApproval'] }, admin)).toContain(
      `((ExecutionStatus = 'Running' AND FermataStatus = 'AwaitingApproval'))`,
    );
  });

  it('joins several statuses, each once', () => {
    expect(queryFor({ statuses: ['Completed', 'Cancelled', 'Completed'] }, admin)).toBe(
      `${all} AND (ExecutionStatus = 'Completed' OR ExecutionStatus = 'Canceled')`,
    );
  });

  it('has class, roots and times', () => {
    const filter = {
      class: 'batch' as const,
      rootsOnly: true,
      startedAfter: new Date(0),
      startedBefore: new Date(1_000),
    };
    expect(queryFor(filter, admin)).toBe(
      `${all} AND FermataClass = 'batch' AND FermataParent IS NULL AND StartTime >= '1970-01-01T00:00:00.000Z' AND StartTime < '1970-01-01T00:00:01.000Z'`,
    );
  });
});
