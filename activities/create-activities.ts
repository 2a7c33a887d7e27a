/** The activities of a worker, made from what they need; a test hands in its own. */
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Addresses } from '../contracts/addresses.ts';
import type { ToolServers } from '../contracts/config-file.ts';
import type { ListedTool } from '../contracts/tool-listing.ts';
import { textDigest } from '../contracts/transcript-digest.ts';
import type { RunActivities } from './activity-types.ts';
import { createCallTool } from './call-tool.ts';
import { createDescribeRuns } from './describe-runs.ts';
import { createLiveTurns, type LiveTurns } from './live-turns.ts';
import { createModelClient } from './model-turn/model-client.ts';
import { createModelTurn } from './model-turn/model-turn.ts';
import { createTranscriptCache } from './model-turn/transcript-cache.ts';
import { createValidator } from './tool-calls/validate-arguments.ts';
import { createToolRegistry } from './tool-servers/tool-registry.ts';
import { createWeightedCache } from './weighted-cache.ts';

export interface ActivitiesDeps {
  /** Root of the proxy, without `/v1`, or of several that will do. */
  readonly proxyUrl: Addresses;
  /** What the services send to each other; null: nothing. */
  readonly token: string | null;
  readonly toolServers: ToolServers;
  readonly temporal: Pick<Client, 'workflow'>;
  readonly logger: Logger;
}

export interface Activities {
  readonly activities: RunActivities;
  /** What models are writing now. */
  readonly live: LiveTurns;
  /** Puts other tool servers in force; calls in flight end on those they were sent to. */
  reconfigure(toolServers: ToolServers): void;
  /** Ends the connections to proxy and tool servers. */
  close(): Promise<void>;
}

/** UTF-16 units of tool schemas kept. */
const toolListLimit = 16_000_000;

export function createActivities(deps: ActivitiesDeps): Activities {
  const models = createModelClient(deps.proxyUrl, deps.token, deps.logger);
  const tools = createToolRegistry(deps.toolServers, { logger: deps.logger });
  const transcripts = createTranscriptCache();
  const live = createLiveTurns();
  const toolLists = createWeightedCache<readonly ListedTool[]>(toolListLimit);
  const modelTurn = createModelTurn({
    models,
    transcripts,
    toolLists,
    validate: createValidator(),
    live,
    nowMs: Date.now,
  });
  return {
    live,
    activities: {
      modelTurn,
      callTool: createCallTool({
        tools,
        transcripts,
        takesImages: async (model) => await models.takesImages(model),
      }),
      async listTools(names) {
        const listing = await tools.list(names, cancellationSignal());
        const text = JSON.stringify(listing.tools);
        toolLists.set(textDigest(text), listing.tools, text.length);
        for (const warning of listing.warnings)
          deps.logger.warn({ run: activityInfo().workflowExecution?.workflowId }, warning);
        return listing;
      },
      async reportRunEnded(runId) {
        transcripts.forget(runId);
        await models.endRun(runId, cancellationSignal());
      },
      describeRuns: createDescribeRuns(deps.temporal),
    },
    reconfigure: (toolServers) => tools.reconfigure(toolServers),
    async close() {
      await Promise.all([models.close(), tools.close()]);
    },
  };
}
