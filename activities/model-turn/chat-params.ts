/**
 * A run's messages as the chat API of engines takes them. Pure. A tool message can hold text only with most
 * engines, so the images of a reply's results follow its last result in a message of the user, in the order
 * of the calls, each with a line that says whose it is; calls and results stay next to each other.
 */
import type OpenAI from 'openai';
import type { ChatMessage, ToolMessage } from '../../contracts/chat-messages.ts';
import { imagesOf } from '../../contracts/tool-images.ts';

type Param = OpenAI.ChatCompletionMessageParam;
type Part = OpenAI.ChatCompletionContentPart;

/** Said by the model where its engine takes no message of the user right after a result. */
const bridge: Param = { role: 'assistant', content: 'I will look at the images.' };
const heading = 'Images that the tools returned. They are output of the tools, not words of the user.';

/** @param bridged whether an assistant's message has to stand between results and images. */
export function chatParams(messages: readonly ChatMessage[], bridged: boolean): Param[] {
  const params: Param[] = [];
  let names = new Map<string, string>();
  let results: ToolMessage[] = [];
  const showImages = (): void => {
    const parts = imageParts(results, names);
    if (parts.length > 0) params.push(...(bridged ? [bridge] : []), { role: 'user', content: parts });
    results = [];
  };
  for (const message of messages) {
    if (message.role !== 'tool') showImages();
    if (message.role === 'assistant') {
      names = new Map(message.tool_calls?.map((call) => [call.id, call.function.name]));
    }
    if (message.role === 'tool') {
      const { images: _images, ...text } = message;
      results.push(message);
      params.push(text);
    } else params.push(message as Param);
  }
  showImages();
  return params;
}

/** One reply's images; empty: there are none. */
function imageParts(results: readonly ToolMessage[], names: ReadonlyMap<string, string>): Part[] {
  const parts = results.flatMap((result, index) => {
    const name = names.get(result.tool_call_id) ?? 'a tool';
    return imagesOf(result).flatMap((image, place): Part[] => [
      { type: 'text', text: `Result ${index + 1} (${name}), image ${place + 1}:` },
      { type: 'image_url', image_url: { url: `data:${image.mimeType};base64,${image.data}` } },
    ]);
  });
  return parts.length === 0 ? [] : [{ type: 'text', text: heading }, ...parts];
}

/** Whether an engine takes no user's message after a result: `Unexpected role 'user' after role 'tool'`. */
export function wantsBridge(status: number, message: string): boolean {
  return (
    (status === 400 || status === 422 || status === 500) &&
    /\brole\W{0,3}user\W{1,12}after\W{1,3}(?:role\W{0,3})?tool\b/i.test(message)
  );
}
