/** The recorded streams among the public cases, as bytes, each with how its transport ended. */
import { z } from 'zod';
import { caseFile, type CaseFile } from '../case-file.ts';

export interface StreamCase {
  /** Case and variant, such as `S05 c_null_choices`; the variant of a case with one stream is `only`. */
  readonly name: string;
  readonly case: CaseFile;
  readonly variant: string;
  readonly writes: readonly Buffer[];
  readonly ending: 'end' | 'reset';
}

const recordedStreamSchema = z.looseObject({
  writes: z.array(z.object({ text: z.string().optional(), hex: z.string().optional() })),
  // oxlint-disable-next-line unicorn/no-thenable -- the case files call it so, and it is never awaited
  then: z.enum(['end', 'reset']),
});

const givenSchema = z.union([
  z.looseObject({ variants: z.record(z.string(), recordedStreamSchema) }),
  z
    .looseObject({ upstream: recordedStreamSchema })
    .transform(({ upstream }) => ({ variants: { only: upstream } })),
]);

const streamCaseIds = ['S01', 'S04', 'S05', 'S06', 'S08', 'S10', 'S12'];

/** A case as it was recorded. */
export function readCase(id: string): CaseFile {
  return caseFile(id);
}

/** Every recorded stream; of one case when `id` names it. */
export function streamCases(id?: string): StreamCase[] {
  return streamCaseIds
    .filter((candidate) => id === undefined || candidate === id)
    .flatMap((caseId) => {
      const from = caseFile(caseId);
      return Object.entries(givenSchema.parse(from.given).variants).map(([variant, stream]) => ({
        name: `${caseId} ${variant}`,
        case: from,
        variant,
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
