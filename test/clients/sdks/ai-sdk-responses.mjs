/** Vercel's AI SDK with `@ai-sdk/openai`, the Responses API. Its loop calls the tools itself. */
import { createOpenAI } from '@ai-sdk/openai';
import { smokeOfAiSdk } from './ai-sdk-smoke.mjs';
import { proxyUrl, token } from './smoke.mjs';

const fermata = createOpenAI({ baseURL: `${proxyUrl}/v1`, apiKey: token });

// Without it, replies are sent back by their id: nothing of this machine keeps them.
await smokeOfAiSdk((model) => fermata.responses(model), { openai: { store: false } });
