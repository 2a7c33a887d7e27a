/** Letters to classify: of about 150 words, different for every number, the same for equal numbers. Pure. */
import { createGenerator, hashText, pick } from '../../testkit/sim-engine/core/random.ts';

const sentences = [
  'The parcel that you promised for Tuesday has still not come.',
  'I have written to you twice and nobody has answered.',
  'Please pay back what I paid for the broken lamp.',
  'The lamp itself is lovely, and your packing was careful.',
  'Your driver left it with a neighbour whom I do not know.',
  'I would buy from you again if this can be set right.',
  'The number of the order is at the top of this letter.',
  'My old lamp came from you too and never gave me trouble.',
  'It was to be a present, and the day has passed.',
  'Could you tell me by Friday what you mean to do?',
];
const sentencesInLetter = 14;

/** @param number begins the text, so that no prefix cache knows it. */
export function textOf(number: number): string {
  const generator = createGenerator(hashText(`letter ${number}`));
  const body = Array.from({ length: sentencesInLetter }, () => pick(generator, sentences) ?? '');
  return `Order ${number}. ${body.join(' ')}`;
}
