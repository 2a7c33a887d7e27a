/** What the messages between a client and our server say of the client: its era, its forms, its waits. Pure. */
import { z } from 'zod';
import type { TappedMessage } from './mcp-tap.ts';

export interface TappedCall {
  readonly tool: string;
  readonly askedForProgress: boolean;
  /** Milliseconds until its answer; null: none came. */
  readonly tookMs: number | null;
  readonly isError: boolean;
}

export interface TappedForm {
  /** As the server put it. */
  readonly message: string;
  /** `accept`, `decline`, `cancel`, or the error; null: it was not answered. */
  readonly answer: string | null;
  readonly tookMs: number | null;
}

export interface TappedSession {
  readonly client: string | null;
  /** The version that was agreed on. */
  readonly version: string | null;
  /** What it declares for elicitation, as JSON; null: nothing. */
  readonly elicitation: string | null;
  readonly calls: readonly TappedCall[];
  readonly forms: readonly TappedForm[];
  readonly toolsListed: boolean;
  readonly progressSent: number;
  /** Tool calls that the client took back before they were answered. */
  readonly cancelled: number;
}

const infoSchema = z.looseObject({ name: z.string(), version: z.string() });
const initializeSchema = z.looseObject({
  protocolVersion: z.string(),
  clientInfo: infoSchema,
  capabilities: z.looseObject({ elicitation: z.unknown().optional() }),
});
const metaKey = (name: string): string => `io.modelcontextprotocol/${name}`;
const envelopeSchema = z.looseObject({
  _meta: z.looseObject({
    [metaKey('protocolVersion')]: z.string(),
    [metaKey('clientInfo')]: infoSchema.optional(),
    [metaKey('clientCapabilities')]: z.looseObject({ elicitation: z.unknown().optional() }).optional(),
  }),
});
const callSchema = z.looseObject({
  name: z.string(),
  _meta: z.looseObject({ progressToken: z.union([z.string(), z.number()]).optional() }).optional(),
});

const idOf = (message: TappedMessage['message']): string => JSON.stringify(message.id);

function answerTo(messages: readonly TappedMessage[], at: number): TappedMessage | null {
  const asked = messages[at];
  if (asked === undefined) return null;
  const found = messages
    .slice(at + 1)
    .find(
      ({ from, message }) =>
        from !== asked.from && message.method === undefined && idOf(message) === idOf(asked.message),
    );
  return found ?? null;
}

function whoIs(
  messages: readonly TappedMessage[],
): Pick<TappedSession, 'client' | 'version' | 'elicitation'> {
  const show = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));
  for (const [at, { message }] of messages.entries()) {
    if (message.method === 'initialize') {
      const { data } = initializeSchema.safeParse(message.params);
      const agreed = answerTo(messages, at)?.message.result?.['protocolVersion'];
      if (data === undefined || typeof agreed !== 'string') continue;
      const { clientInfo, capabilities } = data;
      const client = `${clientInfo.name} ${clientInfo.version}`;
      return { client, version: agreed, elicitation: show(capabilities.elicitation) };
    }
    const { data } = envelopeSchema.safeParse(message.params);
    if (data === undefined || answerTo(messages, at)?.message.result === undefined) continue;
    const info = infoSchema.safeParse(data._meta[metaKey('clientInfo')]).data;
    const capabilities = z.looseObject({}).safeParse(data._meta[metaKey('clientCapabilities')]).data;
    return {
      client: info === undefined ? null : `${info.name} ${info.version}`,
      version: z.string().parse(data._meta[metaKey('protocolVersion')]),
      elicitation: show(capabilities?.['elicitation']),
    };
  }
  return { client: null, version: null, elicitation: null };
}

function callOf(messages: readonly TappedMessage[], at: number): TappedCall[] {
  const asked = messages[at];
  const { data } = callSchema.safeParse(asked?.message.params);
  if (asked?.message.method !== 'tools/call' || data === undefined) return [];
  const answer = answerTo(messages, at);
  return [
    {
      tool: data.name,
      askedForProgress: data._meta?.progressToken !== undefined,
      tookMs: answer === null ? null : answer.atMs - asked.atMs,
      isError: answer?.message.error !== undefined || answer?.message.result?.['isError'] === true,
    },
  ];
}

function formOf(messages: readonly TappedMessage[], at: number): TappedForm[] {
  const asked = messages[at];
  if (asked?.message.method !== 'elicitation/create') return [];
  const answer = answerTo(messages, at);
  const action = answer?.message.result?.['action'];
  return [
    {
      message: String(asked.message.params?.['message']),
      answer: typeof action === 'string' ? action : (answer?.message.error?.message ?? null),
      tookMs: answer === null ? null : answer.atMs - asked.atMs,
    },
  ];
}

const isCall = ({ from, message }: TappedMessage): boolean =>
  from === 'client' && message.method === 'tools/call';

/** Whether it is a call that the client took back before it was answered; some do so after, too. */
function isTakenBack(messages: readonly TappedMessage[], at: number): boolean {
  const asked = messages[at];
  if (asked === undefined || !isCall(asked)) return false;
  const answer = answerTo(messages, at);
  const until = answer === null ? messages.length : messages.indexOf(answer);
  return messages
    .slice(at + 1, until)
    .some(
      ({ from, message: { method, params } }) =>
        from === 'client' &&
        method === 'notifications/cancelled' &&
        params?.['requestId'] === asked.message.id,
    );
}

export function readTapped(messages: readonly TappedMessage[]): TappedSession {
  const each = [...messages.keys()];
  const ofMethod = (method: string): number =>
    messages.filter(({ message }) => message.method === method).length;
  return {
    ...whoIs(messages),
    calls: each.flatMap((at) => callOf(messages, at)),
    forms: each.flatMap((at) => formOf(messages, at)),
    toolsListed: each.some(
      (at) =>
        messages[at]?.message.method === 'tools/list' && answerTo(messages, at)?.message.result !== undefined,
    ),
    progressSent: ofMethod('notifications/progress'),
    cancelled: each.filter((at) => isTakenBack(messages, at)).length,
  };
}
