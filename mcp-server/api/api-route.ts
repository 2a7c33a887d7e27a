/**
 * A route of the run API as data: what parses its request, what its answers look like, and what answers
 * it. The service is made from these, and so is its OpenAPI document.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { ErrorCode } from '../../contracts/error-codes.ts';
import type { Asker } from '../runs/asker.ts';

/** One request, parsed. */
export interface ApiCall<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly headers: IncomingHttpHeaders;
  readonly asker: Asker;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Aborted when the server stops: whoever waits then answers with what there is. */
  readonly stopping: AbortSignal;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AnswerDescription {
  readonly description: string;
  readonly schema: z.ZodType;
}

interface RouteWords {
  readonly method: 'GET' | 'POST';
  /** With its parameters in braces, such as `/api/runs/{handle}`. */
  readonly path: string;
  /** Name of the operation, unique. */
  readonly operation: string;
  /** One line. */
  readonly summary: string;
  readonly description?: string;
  /** By status. */
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Codes that it may be refused with, beside those of every route. */
  readonly refusals: readonly ErrorCode[];
}

export interface ApiRoute extends RouteWords {
  readonly params: z.ZodObject | null;
  readonly query: z.ZodObject | null;
  readonly body: z.ZodType | null;
  handle(call: ApiCall<unknown, unknown, unknown>): Promise<ApiAnswer>;
}

interface TypedRoute<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> extends RouteWords {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  handle(call: ApiCall<z.output<P>, z.output<Q>, z.output<B>>): Promise<ApiAnswer>;
}

export function apiRoute<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>({
  params,
  query,
  body,
  handle,
  ...words
}: TypedRoute<P, Q, B>): ApiRoute {
  return {
    ...words,
    params: params ?? null,
    query: query ?? null,
    body: body ?? null,
    handle: async (call) => await handle(call as ApiCall<z.output<P>, z.output<Q>, z.output<B>>),
  };
}

export function ok(body: unknown): ApiAnswer {
  return { status: 200, body };
}

export const handleParam = z.object({
  handle: z.string().describe('Handle of a run: run_ and 22 letters and digits.'),
});
