/**
 * What every JavaScript framework is asked to do with its model behind the proxy: answer, stream, two
 * turns with a tool (once more streaming, each with and without a run header), an unknown model, the rate
 * limit of an engine and of the proxy. The program of a framework says how it does each; what came of it is printed as one line of JSON
 * and judged elsewhere. It runs where the framework is installed, so it imports nothing of the project.
 */
const need = (name) => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
};

export const proxyUrl = need('SMOKE_PROXY_URL');
export const model = need('SMOKE_MODEL');
export const token = need('SMOKE_TOKEN');
const caller = need('SMOKE_CALLER');
const limitedCaller = need('SMOKE_LIMITED_CALLER');
const word = need('SMOKE_WORD');

/** Headers that a framework adds to its requests; the run is named where there is one. */
const headersOf = (run, who = caller) => ({
  'x-fermata-caller': who,
  ...(run === null ? {} : { 'x-fermata-run-id': run }),
});

const directive = (fields) => `[[sim ${JSON.stringify(fields)}]]`;
export const lookup = {
  name: 'lookup',
  description: 'Looks a topic up.',
  parameters: {
    type: 'object',
    properties: { topic: { type: 'string' } },
    required: ['topic'],
    additionalProperties: false,
  },
};
export const toolResult = `It is a ${word}.`;

/** Every error of the call, as the framework shows it to its user; null when it did not fail. */
async function failureOf(describe, action) {
  try {
    await action();
    return null;
  } catch (error) {
    return describe(error);
  }
}

/**
 * @param does.answer `({prompt, headers, model}) => text`
 * @param does.stream `({prompt, headers}) => pieces of text in order`
 * @param does.loop `({prompt, headers, streaming}) => {text, calls, runs}`; `runs` are the run ids that the
 *   responses named, in order; null where the framework hides them
 * @param does.describe `(error) => {name, status, message}`
 */
export async function smoke(does) {
  const loops = [];
  for (const streaming of [false, true]) {
    for (const run of [null, `${caller}-${streaming ? 'streaming' : 'whole'}`]) {
      const prompt = `${loops.length}: what is it? ${directive({ calls: ['lookup'], answer: `Looked up: ${word}.` })}`;
      const { text, calls, runs } = await does.loop({ prompt, headers: headersOf(run), streaming, model });
      loops.push({ run, streaming, text, calls, runs });
    }
  }
  const prompt = `Say it. ${directive({ calls: [], answer: `The word is ${word}.` })}`;
  const plain = headersOf(null, `${caller}-plain`);
  const text = await does.answer({ prompt, headers: plain, model });
  const pieces = await does.stream({ prompt: `Stream. ${prompt}`, headers: plain, model });
  const failing = headersOf(null, `${caller}-errors`);
  const unknownModel = await failureOf(
    does.describe,
    async () => await does.answer({ prompt, headers: failing, model: 'no-such-model' }),
  );
  const limitedPrompt = `Too much. ${directive({ fault: 'rate-limit' })}`;
  const rateLimit = await failureOf(
    does.describe,
    async () => await does.answer({ prompt: limitedPrompt, headers: failing, model }),
  );
  // The first one may pass, the second one is one too many.
  const oneTooMany = async () =>
    await failureOf(
      does.describe,
      async () => await does.answer({ prompt, headers: headersOf(null, limitedCaller), model }),
    );
  const ownRateLimit = (await oneTooMany(), await oneTooMany());
  const told = { text, pieces, loops, unknownModel, rateLimit, ownRateLimit };
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
