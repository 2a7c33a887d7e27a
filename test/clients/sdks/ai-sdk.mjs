/** Vercel's AI SDK with `@ai-sdk/openai-compatible`, chat completions. Its loop calls the tools itself. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { smokeOfAiSdk } from './ai-sdk-smoke.mjs';
import { proxyUrl, token } from './smoke.mjs';

const fermata = createOpenAICompatible({
  name: 'fermata',
  baseURL: `${proxyUrl}/v1`,
  apiKey: token,
  includeUsage: true,
});

await smokeOfAiSdk((model) => fermata.chatModel(model));
