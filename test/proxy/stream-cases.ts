/** The recorded streams among the public cases, as bytes, each with how its transport ended. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface StreamCase {
  readonly name: string;
  readonly writes: readonly Buffer[];
  readonly ending: 'end' | 'reset';
}

interface RecordedStream {
  readonly writes: readonly { text?: string; hex?: string }[];
  readonly then: 'end' | 'reset';
}

const streamCaseIds = ['S01', 'S04', 'S05', 'S06', 'S08', 'S10', 'S12'];

export function readCase(id: string): { title: string; given: Record<string, unknown> } {
  const path = join(import.meta.dirname, '..', 'fixtures', 'cases', `${id}.json`);
  return JSON.parse(readFileSync(path, 'utf8')) as { title: string; given: Record<string, unknown> };
}

/** Every recorded stream, named `S05 c_null_choices` and the like. */
export function streamCases(): StreamCase[] {
  return streamCaseIds.flatMap((id) => {
    const { given } = readCase(id);
    const variants = (given['variants'] ?? { only: given['upstream'] }) as Record<string, RecordedStream>;
    return Object.entries(variants).map(([variant, stream]) => ({
      name: `${id} ${variant}`,
      writes: stream.writes.map((write) =>
        write.hex === undefined ? Buffer.from(write.text ?? '') : Buffer.from(write.hex, 'hex'),
      ),
      ending: stream.then,
    }));
  });
}

export function streamCase(name: string): StreamCase {
  const found = streamCases().find((stream) => stream.name === name);
  if (found === undefined) throw new Error(`no recorded stream '${name}'`);
  return found;
}
