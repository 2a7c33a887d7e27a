/**
 * A scripted model behind Gemini's API, for the Gemini CLI: `generateContent`, `streamGenerateContent` and
 * `countTokens` of any model. What it answers is the script's to say; it keeps no conversation, since each
 * request carries its own. Shape from the API's public reference ("GenerateContentResponse").
 */
import { z } from 'zod';
import { readText, sendJson, startLoopbackServer } from './loopback-server.ts';
import type { LoopbackServer } from './loopback-server.ts';

const partSchema = z.looseObject({
  functionCall: z.looseObject({ id: z.string().optional(), name: z.string() }).optional(),
  functionResponse: z
    .looseObject({ id: z.string().optional(), name: z.string(), response: z.unknown() })
    .optional(),
});
const geminiRequestSchema = z.looseObject({
  contents: z.array(z.looseObject({ role: z.string().optional(), parts: z.array(partSchema).default([]) })),
  tools: z
    .array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })).default([]) }))
    .default([]),
});
export type GeminiRequest = z.infer<typeof geminiRequestSchema>;

export type GeminiPart =
  | { readonly text: string }
  | { readonly functionCall: { readonly id: string; readonly name: string; readonly args: object } };

/** Every function call of the conversation with its response, null where it carries none, in order. */
export function geminiCallsOf({ contents }: GeminiRequest): { name: string; result: string | null }[] {
  const parts = contents.flatMap((content) => content.parts);
  const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
  return parts.flatMap(({ functionCall }) => {
    if (functionCall === undefined) return [];
    const { id, name } = functionCall;
    // A client may leave ids out: then the next response of that name is meant.
    const at = responses.findIndex((one) =>
      id === undefined || one.id === undefined ? one.name === name : one.id === id,
    );
    const [found] = at === -1 ? [] : responses.splice(at, 1);
    return [{ name, result: found === undefined ? null : textOf(found.response) }];
  });
}

/** The CLI puts the text of a tool's result into `output`. */
function textOf(response: unknown): string {
  const told = z.looseObject({ output: z.string() }).safeParse(response);
  return told.success ? told.data.output : JSON.stringify(response);
}

export type GeminiScript = (request: GeminiRequest) => readonly GeminiPart[];

export async function startGeminiEndpoint(script: GeminiScript): Promise<LoopbackServer> {
  return await startLoopbackServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://loopback');
    const method = /^\/v1(?:beta)?\/models\/[^:]+:(\w+)$/.exec(pathname)?.[1];
    const text = await readText(request);
    if (method === 'countTokens') {
      sendJson(response, 200, { totalTokens: Math.ceil(text.length / 4) });
      return;
    }
    if (method !== 'generateContent' && method !== 'streamGenerateContent') {
      sendJson(response, 404, { error: { code: 404, message: `${pathname} is not scripted` } });
      return;
    }
    const asked = geminiRequestSchema.parse(JSON.parse(text));
    const parts = script(asked);
    const usage = { promptTokenCount: Math.ceil(text.length / 4), candidatesTokenCount: 16 };
    const reply = {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { ...usage, totalTokenCount: usage.promptTokenCount + usage.candidatesTokenCount },
    };
    if (method === 'generateContent') {
      sendJson(response, 200, reply);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(reply)}\n\n`);
  });
}
