/** Chat requests of 4 KB, cheap to make by the thousand: only the conversation's name and turn differ. */

export const bodyBytes = 4_096;
export const nameBytes = 16;

export interface BodyOptions {
  readonly model: string;
  readonly stream: boolean;
  readonly maxTokens: number;
}

/**
 * @returns a function from a conversation's name to the request of one of its turns: a shared system prompt
 *   of about 1 KB, then a user message that begins with the name; exactly 4 KB. Each turn after the first
 *   sends a reply and a question more.
 */
export function bodyMaker({
  model,
  stream,
  maxTokens,
}: BodyOptions): (conversation: string, turn?: number) => Buffer {
  const system = 'You answer as briefly as you can and you never make anything up. '.repeat(16);
  const before = `{"model":${JSON.stringify(model)},"stream":${stream},"max_tokens":${maxTokens},"messages":[{"role":"system","content":${JSON.stringify(system)}},{"role":"user","content":"`;
  const after = '"}';
  const end = ']}';
  const rest = bodyBytes - before.length - nameBytes - after.length - end.length;
  const filler = ' What flows past the old mill, and how deep is it there?'.repeat(64).slice(0, rest);
  const template = Buffer.from(`${before}${'0'.repeat(nameBytes)}${filler}${after}`);
  return (conversation, turn = 1) => {
    const body = Buffer.concat([template, Buffer.from(`${laterMessages(turn)}${end}`)]);
    body.write(conversation.padStart(nameBytes, '0').slice(-nameBytes), before.length, 'latin1');
    return body;
  };
}

function laterMessages(turn: number): string {
  let text = '';
  for (let number = 2; number <= turn; number += 1) {
    text += `,{"role":"assistant","content":"It is ${number} feet."},{"role":"user","content":"And further down?"}`;
  }
  return text;
}
