/** Chat requests of exactly 4 KB, cheap to make by the thousand: only the conversation's name differs. */

export const bodyBytes = 4_096;
const nameBytes = 16;

export interface BodyOptions {
  readonly model: string;
  readonly stream: boolean;
  readonly maxTokens: number;
}

/**
 * @returns a function from the conversation's number to its request's body: a shared system prompt of about
 *   1 KB, then a user message that begins with the number.
 */
export function bodyMaker({ model, stream, maxTokens }: BodyOptions): (conversation: string) => Buffer {
  const system = 'You answer as briefly as you can and you never make anything up. '.repeat(16);
  const before = `{"model":${JSON.stringify(model)},"stream":${stream},"max_tokens":${maxTokens},"messages":[{"role":"system","content":${JSON.stringify(system)}},{"role":"user","content":"`;
  const after = '"}]}';
  const rest = bodyBytes - before.length - nameBytes - after.length;
  const filler = ' What flows past the old mill, and how deep is it there?'.repeat(64).slice(0, rest);
  const template = Buffer.from(`${before}${'0'.repeat(nameBytes)}${filler}${after}`);
  return (conversation) => {
    const body = Buffer.from(template);
    body.write(conversation.padStart(nameBytes, '0').slice(-nameBytes), before.length, 'latin1');
    return body;
  };
}
