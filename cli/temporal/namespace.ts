/** The namespace of a Temporal cluster: whether it is there, how long it keeps ended runs, and making one. */
import type { Connection } from '@temporalio/client';
import { isMissingNamespace } from '../../temporal/refusal-words.ts';
import { statusOf } from './open-connection.ts';

/** An ended run that somebody fetches on Monday may be from Friday. */
export const wantedRetentionHours = 72;

const secondsPerHour = 3_600;

/** @returns null: there is no such namespace. */
export async function readNamespace(
  connection: Connection,
  namespace: string,
): Promise<{ readonly retentionHours: number } | null> {
  try {
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    return { retentionHours: seconds / secondsPerHour };
  } catch (error) {
    const status = statusOf(error);
    if (status !== null && isMissingNamespace(status)) return null;
    throw error;
  }
}

export async function createNamespace(
  connection: Connection,
  namespace: string,
  retentionHours: number,
): Promise<void> {
  await connection.workflowService.registerNamespace({
    namespace,
    description: 'runs of fermata',
    workflowExecutionRetentionPeriod: durationOf(retentionHours),
  });
}

export async function setRetention(
  connection: Connection,
  namespace: string,
  retentionHours: number,
): Promise<void> {
  await connection.workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: durationOf(retentionHours) },
  });
}

/** `72h` or `3d`, as hours. @returns null: it is neither. */
export function parseRetention(text: string): number | null {
  const match = /^(\d{1,5})([hd])$/.exec(text.trim());
  if (match === null) return null;
  const hours = Number(match[1]) * (match[2] === 'd' ? 24 : 1);
  return hours > 0 ? hours : null;
}

/** `72 h`, `1.5 h`. */
export function retentionText(hours: number): string {
  return `${Number(hours.toFixed(2))} h`;
}

function durationOf(hours: number): { seconds: Long; nanos: number } {
  return { seconds: Math.round(hours * secondsPerHour), nanos: 0 } as unknown as {
    seconds: Long;
    nanos: number;
  };
}

/** Temporal's own type for 64 bits; plain numbers are taken as well. */
type Long = NonNullable<
  NonNullable<
    NonNullable<
      Awaited<ReturnType<Connection['workflowService']['describeNamespace']>>['config']
    >['workflowExecutionRetentionTtl']
  >['seconds']
>;
