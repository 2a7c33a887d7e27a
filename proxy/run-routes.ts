/**
 * `GET` and `DELETE /v1/runs/{id}`. What an id means depends on who asks, as it does for a turn: a caller
 * means its own runs and never learns of others'; whoever may see everything may also give the id that
 * a run has here.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isAdmin } from '../auth/grant.ts';
import { anonymousCaller, type RunId } from '../contracts/ids.ts';
import { endRun } from './end-run.ts';
import { Fault } from './faults.ts';
import { readCaller, readOwner } from './identity/identity-headers.ts';
import { parseRunName, plainRun, scopedRun, type RunName } from './identity/scoped-run.ts';
import type { ProxyContext } from './proxy-context.ts';

type RunRequest = FastifyRequest<{ Params: { id: string } }>;

export function addRunRoutes(app: FastifyInstance, context: ProxyContext): void {
  app.get('/v1/runs/:id', (request: RunRequest, reply) => {
    const name = runNameIn(request);
    for (const run of whatIsMeant(request, name).runs) {
      const report = context.runs.report(run, context.nowMs());
      if (report !== null) {
        reply.send({ ...report, id: name });
        return;
      }
    }
    throw new Fault('not_found', `this proxy knows no live run '${name}'`);
  });
  app.delete('/v1/runs/:id', (request: RunRequest, reply) => {
    const name = runNameIn(request);
    const { runs, any } = whatIsMeant(request, name);
    const known = runs.find((run) => context.runs.report(run, context.nowMs()) !== null);
    // One that is not known here may be on another proxy: the scheduler tells it.
    for (const run of known === undefined ? runs : [known]) endRun(context, run);
    if (known === undefined && !any) {
      throw new Fault(
        'not_found',
        `this proxy knows no live run '${name}'; if another one does, it ends there`,
      );
    }
    reply.send({ id: name, object: 'run', ended: true });
  });
}

function runNameIn(request: RunRequest): RunName {
  const name = parseRunName(request.params.id);
  if (name !== null) return name;
  throw new Fault('invalid_request', 'the run id must be 1 to 128 bytes of printable ASCII');
}

interface Meant {
  /** Likeliest first; each is the run of whoever asks, or of one for whom that one may ask. */
  readonly runs: readonly RunId[];
  /** The id may also be the one that a run has here. */
  readonly any: boolean;
}

function whatIsMeant({ grant, headers }: RunRequest, name: RunName): Meant {
  const own = readOwner(headers, grant);
  if (!isAdmin(grant)) return { runs: [scopedRun(own, name)], any: false };
  const caller = readCaller(headers);
  const any = caller === anonymousCaller;
  const asked = { caller, named: false };
  const runs = [
    ...(own.named ? [scopedRun(own, name)] : []),
    scopedRun(asked, name),
    any ? plainRun(name) : scopedRun({ caller, named: true }, name),
  ];
  return { runs: [...new Set(runs)], any };
}
