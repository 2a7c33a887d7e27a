/**
 * Takes out of a history what tells of the machine it was recorded on: identities of clients and workers,
 * queue names, stack traces, ports. Nothing that replay compares is touched; above all the SDK's flags
 * stay, without which it would not compare names of activities.
 */
import { payloadSchema, textsOf } from './stored-histories.ts';

const fixed: Readonly<Record<string, string>> = {
  identity: 'fermata',
  stackTrace: '',
  workerInstanceKey: '',
};

/** @param history parsed proto JSON. */
export function scrubHistory(history: unknown): unknown {
  return scrub(history, '');
}

function scrub(value: unknown, key: string): unknown {
  if (typeof value === 'string') return fixed[key] ?? withoutPorts(value);
  if (Array.isArray(value)) return value.map((item: unknown) => scrub(item, key));
  if (typeof value !== 'object' || value === null) return value;
  const payload = payloadSchema.safeParse(value);
  if (payload.success) {
    const text = Buffer.from(payload.data.data, 'base64').toString('utf8');
    return { ...value, data: Buffer.from(withoutPorts(text)).toString('base64') };
  }
  if (key === 'taskQueue' && 'name' in value) return { kind: 'TASK_QUEUE_KIND_NORMAL', name: 'fermata' };
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, scrub(item, name)]));
}

function withoutPorts(text: string): string {
  return text.replaceAll(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:9');
}

/**
 * What a scrubbed history still tells of a machine, one line each.
 * @param words names and paths of the machine it was recorded on.
 */
export function machineTraces(history: unknown, words: readonly string[] = []): string[] {
  return textsOf(history).flatMap((text) => [
    ...[...text.matchAll(/\b\d+@\S+|file:\/\/\S+|node_modules\S*|\bat \S+ \(\S+:\d+:\d+\)/g)].map(
      ([found]) => found,
    ),
    ...words.filter((word) => text.includes(word)),
  ]);
}

/** One event a line: small, and a change of one event shows as one line. */
export function historyText(events: readonly unknown[]): string {
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`;
}
