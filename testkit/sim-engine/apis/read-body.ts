/** What the readers of all APIs do alike: check a body, read directives, join parts of a content. */
import type { z } from 'zod';
import type { SimMessage } from '../core/conversation.ts';
import { hashText } from '../core/random.ts';
import { DirectiveFault, readDirectives, type Directive } from '../core/directives.ts';
import { BadRequest } from './api.ts';

/** @throws BadRequest that names the first field that does not fit. */
export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new BadRequest(400, `${where === '' ? 'body' : where}: ${issue?.message ?? 'cannot be read'}`);
}

/** @throws BadRequest for a directive that cannot be read. */
export function directivesOf(messages: readonly SimMessage[]): Directive {
  try {
    return readDirectives(messages);
  } catch (error) {
    if (error instanceof DirectiveFault) throw new BadRequest(400, error.message);
    throw error;
  }
}

/** A message without calls. */
export function textMessage(role: SimMessage['role'], text: string): SimMessage {
  return { role, text, toolCalls: [], toolCallId: null };
}

interface ContentPart {
  readonly type: string;
  readonly text?: string | undefined;
  readonly image_url?: unknown;
  readonly source?: unknown;
}

/** The images of a content, as the three APIs that take any write them; each a short name of its data. */
export function contentImages(content: string | readonly ContentPart[] | null | undefined): string[] {
  if (content === null || content === undefined || typeof content === 'string') return [];
  return content.flatMap((part) =>
    ['image_url', 'input_image', 'image'].includes(part.type)
      ? [String(hashText(JSON.stringify(part.image_url ?? part.source ?? '')))]
      : [],
  );
}

/** As the field of a message; nothing without any. */
export function imagesField(images: readonly string[]): Pick<SimMessage, 'images'> {
  return images.length === 0 ? {} : { images };
}

/** @throws BadRequest, as an engine whose model reads text only does. */
export function refuseImages(messages: readonly SimMessage[], model: string): void {
  if (!messages.some(({ images = [] }) => images.length > 0)) return;
  throw new BadRequest(400, `${model} is not a multimodal model`);
}

/** A content as its text; of a part without one, such as an image, its type stands there. */
export function contentText(content: string | readonly ContentPart[] | null | undefined): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content.map((part) => part.text ?? `<${part.type}>`).join('');
}
