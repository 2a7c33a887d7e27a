/**
 * The tools sub-agents may use, asked from a worker by a short workflow: this service has no tool
 * servers of its own. One question at a time, its answer kept for ten seconds.
 */
import { randomUUID } from 'node:crypto';
import { workflowTypes } from '../../contracts/run.ts';
import { toolListingSchema, type ToolListing } from '../../contracts/tool-listing.ts';
import { SharedRead } from './shared-read.ts';
import { grpcStatusOf, isOutOfTime, type TemporalLink } from './temporal-link.ts';
import { UserFault } from './user-fault.ts';

const keepMs = 10_000;

export interface ToolListingOptions {
  readonly taskQueue: string;
  /** Milliseconds a worker has to answer. */
  readonly limitMs: number;
}

export function createToolListing(
  temporal: TemporalLink,
  { taskQueue, limitMs }: ToolListingOptions,
): SharedRead<ToolListing> {
  return new SharedRead(async () => {
    const handle = await temporal.call((client) =>
      client.workflow.start(workflowTypes.listTools, {
        taskQueue,
        workflowId: `tools_${randomUUID()}`,
        args: [],
        // A listing that no worker took up must not wait in Temporal for ever.
        workflowExecutionTimeout: limitMs * 2,
      }),
    );
    try {
      const listing: unknown = await temporal.client.withDeadline(Date.now() + limitMs, () =>
        handle.result(),
      );
      return toolListingSchema.parse(listing);
    } catch (error) {
      if (!isOutOfTime(error)) {
        const message = error instanceof Error ? error.message : String(error);
        const status = grpcStatusOf(error);
        const words = status === null ? message : `${message}: ${status.details}`;
        throw new UserFault('busy', `the list of tools could not be had from a worker: ${words}`, {
          cause: error,
        });
      }
      throw new UserFault(
        'busy',
        `no worker answered within ${limitMs / 1_000} s on the task queue '${taskQueue}', so the tools are not known; start a worker or try again in a moment`,
        { cause: error },
      );
    }
  }, keepMs);
}

/**
 * One line that refuses names which no server offers; null when all are offered.
 * @param field the argument that has the names.
 */
export function refuseUnknownTools(
  field: string,
  names: readonly string[],
  listing: ToolListing,
): string | null {
  const offered = new Set(listing.tools.map((tool) => tool.name));
  const unknown = names.filter((name) => !offered.has(name));
  if (unknown.length === 0) return null;
  const shown = unknown.slice(0, 10).map((name) => `'${name.slice(0, 80)}'`);
  const more = unknown.length > 10 ? ` and ${unknown.length - 10} more` : '';
  const warnings = listing.warnings.length === 0 ? '' : ` (not listed now: ${listing.warnings.join('; ')})`;
  return `${field}: ${shown.join(', ')}${more} ${unknown.length === 1 ? 'is' : 'are'} not offered by any server; see the tools tool${warnings}`;
}
