/**
 * The OpenAPI 3.1 document of the run API, made from the same schemas that parse its requests and stand
 * for its answers. Pure. A test holds real answers against it.
 */
import { z } from 'zod';
import { errorCodes, type ErrorCode } from '../../contracts/error-codes.ts';
import { errorBodySchema } from './api-fault.ts';
import type { ApiRoute } from './api-route.ts';
import { eventSchemas } from './event-bodies.ts';

type Json = Record<string, unknown>;

/** What every route may be refused with. */
const commonRefusals: readonly ErrorCode[] = ['unauthorized', 'invalid_header', 'internal'];
const changeRefusals: readonly ErrorCode[] = ['unsupported_media_type', 'cross_site'];

export interface DocumentedStream {
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly query: z.ZodObject;
  readonly refusals: readonly ErrorCode[];
}

export const openApiPath = '/api/openapi.json';

export function openApiDocument(
  routes: readonly ApiRoute[],
  stream: DocumentedStream,
  version: string,
): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  paths[stream.path] = { get: streamOperation(stream) };
  paths[openApiPath] = {
    get: {
      operationId: 'getOpenApi',
      summary: 'This document',
      responses: { 200: answerOf('The document.', { type: 'object' }), ...refusalsOf([...commonRefusals]) },
    },
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'fermata run API',
      version,
      description:
        'Runs, their trees and transcripts, and the pool. With tokens, each request sends its own as `Authorization: Bearer TOKEN`; a named token sees its own runs, an admin all.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, {}],
    paths,
    components: {
      schemas: { Error: outputSchema(errorBodySchema), ...eventComponents() },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operationOf(route: ApiRoute): Json {
  const { operation, summary, description, params, query, body, answers, refusals } = route;
  const told = Object.entries(answers).map(([status, answer]) => [
    status,
    answerOf(answer.description, outputSchema(answer.schema)),
  ]);
  const codes = [...commonRefusals, ...(route.method === 'POST' ? changeRefusals : []), ...refusals];
  return {
    operationId: operation,
    summary,
    ...(description === undefined ? {} : { description }),
    parameters: [...parametersOf('path', params), ...parametersOf('query', query)],
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: { 'application/json': { schema: inputSchema(body) } },
          },
        }),
    responses: { ...refusalsOf(codes), ...(Object.fromEntries(told) as Json) },
  };
}

function streamOperation({ operation, summary, description, query, refusals }: DocumentedStream): Json {
  return {
    operationId: operation,
    summary,
    description,
    parameters: [
      ...parametersOf('query', query),
      {
        name: 'last-event-id',
        in: 'header',
        description: 'Id of the last event that you have seen: what came after it is told first.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      200: {
        description: `Server-sent events, by name: ${Object.entries(eventSchemas)
          .map(([name, schema]) => `\`${name}\` (${schema.description ?? ''})`)
          .join(' ')} The data of each is JSON, as the schema Event_NAME has it.`,
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      ...refusalsOf([...commonRefusals, ...refusals]),
    },
  };
}

function eventComponents(): Json {
  return Object.fromEntries(
    Object.entries(eventSchemas).map(([name, schema]) => [`Event_${name}`, outputSchema(schema)]),
  );
}

function answerOf(description: string, schema: Json): Json {
  return { description, content: { 'application/json': { schema } } };
}

/** By status; the codes of one status are told together. */
function refusalsOf(codes: readonly ErrorCode[]): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => [
      String(status),
      answerOf(some.map((code) => `\`${code}\`: ${errorCodes[code].meaning}`).join(' '), {
        $ref: '#/components/schemas/Error',
      }),
    ]),
  );
}

function parametersOf(place: 'path' | 'query', schema: z.ZodObject | null): Json[] {
  if (schema === null) return [];
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, ...rest } = inputSchema(field as z.ZodType);
    return {
      name,
      in: place,
      required: place === 'path',
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

function inputSchema(schema: z.ZodType): Json {
  return withoutDialect(z.toJSONSchema(schema, { io: 'input' }));
}

function outputSchema(schema: z.ZodType): Json {
  // An answer may get fields that a client of today does not know.
  return openObjects(withoutDialect(z.toJSONSchema(schema, { io: 'output' }))) as Json;
}

function withoutDialect({ $schema: _dialect, '~standard': _standard, ...schema }: Json): Json {
  return schema;
}

/** Without `additionalProperties: false`, at every level. */
function openObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(openObjects);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name, value]) => !(name === 'additionalProperties' && value === false))
      .map(([name, value]) => [name, openObjects(value)]),
  );
}
