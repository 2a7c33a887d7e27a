/**
 * The tools of the fake tool server: what each takes, how it is annotated, how long it takes and what it
 * says. Results follow from the arguments alone. Nothing is looked up or changed anywhere.
 */
import { z } from 'zod';
import { createGenerator, hashText, nextInteger, pick } from '../sim-engine/core/random.ts';
import { noisePng } from './noise-png.ts';

export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
}

export interface FakeTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodObject;
  readonly annotations: ToolAnnotations;
  /** Milliseconds before the delay scale; unscaled where the caller names them. */
  readonly durationMs: (values: Values) => number;
  readonly scaled: boolean;
  readonly answer: (values: Values) => FakeAnswer;
}

export interface FakeAnswer {
  readonly text: string;
  readonly isError?: true;
  /** Shown after the text. */
  readonly images?: readonly { readonly mimeType: string; readonly data: string }[];
}

export type Values = Readonly<Record<string, unknown>>;

const readOnly = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };
const writing = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };
/** A hanging call ends after ten minutes even if nobody cancels it. */
const hangMs = 600_000;

const subjects = ['the record', 'the survey', 'an early source', 'the catalogue', 'the field report'];
const verbs = ['describes', 'dates', 'doubts', 'confirms', 'measures', 'compares'];
const objects = ['its origin', 'its size', 'two later cases', 'the usual view', 'a rare exception'];

function sentences(seed: string, count: number): string {
  const generator = createGenerator(hashText(seed));
  return Array.from({ length: count }, () => {
    const parts = [pick(generator, subjects), pick(generator, verbs), pick(generator, objects)];
    return `${parts.join(' ')} (${nextInteger(generator, 1_800, 2_020)}).`;
  }).join(' ');
}

function spread(seed: string, lowest: number, highest: number): number {
  return nextInteger(createGenerator(hashText(seed)), lowest, highest);
}

const text = (values: Values, name: string): string => {
  const value = values[name];
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
};

export const fakeTools: readonly FakeTool[] = [
  {
    name: 'lookup',
    description: 'Looks a topic up in an encyclopedia; takes about a second.',
    inputSchema: z.object({ topic: z.string().min(1).describe('What to look up.') }),
    annotations: readOnly,
    durationMs: (values) => spread(text(values, 'topic'), 900, 1_100),
    scaled: true,
    answer: (values) => ({ text: `${text(values, 'topic')}: ${sentences(text(values, 'topic'), 3)}` }),
  },
  {
    name: 'deep_search',
    description: 'Searches many sources for a query; takes three to six seconds.',
    inputSchema: z.object({
      query: z.string().min(1).describe('What to search for.'),
      depth: z.int().min(1).max(10).optional().describe('How many sources to read; default 3.'),
    }),
    annotations: readOnly,
    durationMs: (values) => spread(text(values, 'query'), 3_000, 6_000),
    scaled: true,
    answer: (values) => ({
      text: `Results for "${text(values, 'query')}": ${sentences(text(values, 'query'), 2 * Number(values['depth'] ?? 3))}`,
    }),
  },
  {
    name: 'delete_page',
    description: 'Deletes a page for good.',
    inputSchema: z.object({ page: z.string().min(1).describe('Name of the page.') }),
    annotations: { ...writing, destructiveHint: true },
    durationMs: () => 50,
    scaled: true,
    answer: (values) => ({ text: `Page "${text(values, 'page')}" is deleted.` }),
  },
  {
    name: 'add_note',
    description: 'Adds a note to the notebook; calling it twice adds it twice.',
    inputSchema: z.object({ text: z.string().min(1).describe('The note.') }),
    annotations: writing,
    durationMs: () => 50,
    scaled: true,
    answer: (values) => ({ text: `Noted: ${text(values, 'text').slice(0, 200)}` }),
  },
  {
    name: 'wait',
    description: 'Waits as long as asked, then says so.',
    inputSchema: z.object({
      milliseconds: z.int().min(0).max(hangMs).describe('How long to wait.'),
    }),
    annotations: writing,
    durationMs: (values) => Number(values['milliseconds']),
    scaled: false,
    answer: (values) => ({ text: `Waited ${text(values, 'milliseconds')} ms.` }),
  },
  {
    name: 'fail',
    description: 'Always fails, with an error as its result.',
    inputSchema: z.object({ reason: z.string().optional().describe('What the error says.') }),
    annotations: readOnly,
    durationMs: () => 10,
    scaled: true,
    answer: (values) => ({
      text: `This tool failed: ${values['reason'] === undefined ? 'as asked' : text(values, 'reason')}`,
      isError: true,
    }),
  },
  {
    name: 'picture',
    description: 'Takes pictures of a scene.',
    inputSchema: z.object({
      scene: z.string().min(1).describe('What to take pictures of.'),
      count: z.int().min(0).max(20).optional().describe('How many; default 1.'),
      width: z.int().min(1).max(2_000).optional().describe('Pixels a side; default 8.'),
    }),
    annotations: readOnly,
    durationMs: () => 50,
    scaled: true,
    answer(values) {
      const images = Array.from({ length: Number(values['count'] ?? 1) }, (_, index) => ({
        mimeType: 'image/png',
        data: noisePng(`${text(values, 'scene')} ${index}`, Number(values['width'] ?? 8)).toString('base64'),
      }));
      return { text: `Pictures of ${text(values, 'scene')}:`, images };
    },
  },
  {
    name: 'long_text',
    description: 'Reads a text of a given length.',
    inputSchema: z.object({
      bytes: z.int().min(0).max(8_000_000).describe('How long it is.'),
      failed: z.boolean().optional().describe('Whether it is an error.'),
    }),
    annotations: readOnly,
    durationMs: () => 10,
    scaled: true,
    answer: (values) => ({
      text: 'long text '.repeat(Math.ceil(Number(values['bytes']) / 10)).slice(0, Number(values['bytes'])),
      ...(values['failed'] === true ? { isError: true } : {}),
    }),
  },
  {
    name: 'hang',
    description: 'Never answers; ends when it is cancelled.',
    inputSchema: z.object({}),
    annotations: readOnly,
    durationMs: () => hangMs,
    scaled: false,
    answer: () => ({ text: 'Hung for ten minutes.' }),
  },
];
