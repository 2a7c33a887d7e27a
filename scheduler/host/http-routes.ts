/** What the scheduler shows over HTTP. Reads the state; changes nothing. */
import type { FastifyInstance } from 'fastify';
import type { Access } from '../../auth/access.ts';
import type { ConfigStatus } from '../../contracts/config-status.ts';
import type { SchedulerStatus } from '../../contracts/scheduler-status.ts';
import { metricsText } from '../../telemetry/metrics-text.ts';
import { describeState, describeStatus } from '../core/status.ts';
import type { SchedulerState } from '../core/state.ts';
import { addDoor } from './door.ts';
import type { SchedulerMetrics } from './metrics.ts';
import { describeReadiness } from './readiness.ts';

const maxDebugEntries = 10_000;
const loopback = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

export interface ShownParts {
  readonly state: SchedulerState;
  readonly metrics: SchedulerMetrics;
  readonly access: Access;
  /** null: nothing is told of the configuration. */
  readonly configStatus: (() => ConfigStatus) | null;
  /** null: there is no lease. */
  readonly lease: (() => NonNullable<SchedulerStatus['lease']>) | null;
  /** Why it decides nothing now, in words; null: it does. */
  readonly awayBecause: () => string | null;
}

export function addRoutes(app: FastifyInstance, parts: ShownParts): void {
  const { state, metrics, access, configStatus, lease, awayBecause } = parts;
  addDoor(app, access);
  app.get('/status', (): SchedulerStatus => ({
    ...describeStatus(state),
    ...(configStatus === null ? {} : { config: configStatus() }),
    ...(lease === null ? {} : { lease: lease() }),
  }));
  app.get('/debug/state', (request, reply) => {
    if (loopback.has(request.ip)) return describeState(state, maxDebugEntries);
    reply.code(403);
    return { error: { message: '/debug is served to this machine only' } };
  });
  app.get('/metrics', (_request, reply) => {
    reply.type(metrics.registry.contentType);
    return metricsText(metrics.registry, null);
  });
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', (_request, reply) => {
    const readiness = describeReadiness(state, awayBecause());
    reply.code(readiness.ready ? 200 : 503);
    return readiness;
  });
}
