/** What the states of runs are described with: scripts of the simulated engine, and what a history must hold. */
import type { StoredEvent } from './stored-histories.ts';

/** A task that the simulated engine works on as told. */
export function directed(directive: Record<string, unknown>): string {
  return `do it [[sim ${JSON.stringify(directive)}]]`;
}

/** A directive's call that goes on until it is cancelled. */
export const endless = { tool: 'wait', arguments: { milliseconds: 600_000 } };

/** So many turns and tool calls have ended. */
export const haveEnded =
  (turnsAndCalls: number) =>
  (events: readonly StoredEvent[]): boolean => {
    const scheduled = events.filter((event) => /"name":"(modelTurn|callTool)"/.test(JSON.stringify(event)));
    const ids = scheduled.map(({ eventId }) => `"scheduledEventId":"${eventId}"`);
    const ended = events.filter(
      (event) =>
        event.eventType === 'EVENT_TYPE_ACTIVITY_TASK_COMPLETED' &&
        ids.some((id) => JSON.stringify(event).includes(id)),
    );
    return ended.length >= turnsAndCalls;
  };

export function count(events: readonly StoredEvent[], type: string): number {
  return events.filter(({ eventType }) => eventType === type).length;
}

export const hasEvent =
  (type: string) =>
  (events: readonly StoredEvent[]): boolean =>
    count(events, type) > 0;
