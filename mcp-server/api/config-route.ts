/** What is told of the configuration: to everyone whether it can be used, to admins what is in force. */
import { showConfig } from '../../config/show-config.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import { configViewSchema, type ConfigView } from '../../contracts/config-status.ts';
import type { RunService } from '../runs/run-service.ts';
import { apiRoute, ok, type ApiRoute } from './api-route.ts';

/** The configuration that this server goes by. */
export type ServerConfiguration = Pick<LiveConfig, 'current' | 'status'>;

/** @param configuration null: it was started without a file. */
export function configRoute(service: RunService, configuration: ServerConfiguration | null): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: '/api/config',
    operation: 'getConfig',
    summary: 'The configuration in force, and what is wrong with a newer one that is not',
    description: 'Without keys, and without values of headers, environments and arguments of tool servers.',
    answers: { 200: { description: 'The configuration now.', schema: configViewSchema } },
    refusals: [],
    handle: async ({ asker }) => {
      const view: ConfigView = {
        services: [
          { service: 'scheduler', config: await service.schedulerConfig() },
          { service: 'mcp-server', config: configuration?.status() ?? null },
        ],
        config: asker.seesAll && configuration !== null ? showConfig(configuration.current()) : null,
      };
      return ok(view);
    },
  });
}
