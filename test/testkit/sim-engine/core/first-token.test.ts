import { describe, expect, it } from 'vitest';
import type { SimMessage } from '../../../../testkit/sim-engine/core/conversation.ts';
import { readDirectives } from '../../../../testkit/sim-engine/core/directives.ts';
import { firstTokenCandidates, type Candidate } from '../../../../testkit/sim-engine/core/first-token.ts';

function candidates(system: string, user: string): Candidate[] {
  const messages = [
    { role: 'system', text: system, toolCalls: [], toolCallId: null },
    { role: 'user', text: user, toolCalls: [], toolCallId: null },
  ] satisfies SimMessage[];
  return firstTokenCandidates(messages, readDirectives(messages), 1);
}

const tokens = (list: readonly Candidate[]): string[] =>
  list.map(({ token }) => token).toSorted((a, b) => a.localeCompare(b));

describe('the first token of a classification', () => {
  it('is the beginning of a label that the prompt names', () => {
    const list = candidates(
      'Answer with exactly one of these labels and nothing else: spam, ham, e.g.',
      'Buy!',
    );
    expect(tokens(list)).toEqual(['e', 'ham', 'spam']);
    expect(tokens(candidates('one of: red or green', 'x'))).toEqual(['green', 'red']);
  });

  it('is the letter or number of a listed option', () => {
    expect(tokens(candidates('A) spam\nB) ham', 'Buy!'))).toEqual(['A', 'B']);
    expect(tokens(candidates('1. spam\n2. ham\n3. other', 'Buy!'))).toEqual(['1', '2', '3']);
    expect(tokens(candidates('- spam\n- ham', 'Buy!'))).toEqual(['ham', 'spam']);
  });

  it('is most likely the label that the input speaks of', () => {
    for (const label of ['spam', 'ham', 'other']) {
      const [best] = candidates('one of: spam, ham, other', `This is ${label}, I think`);
      expect(best).toMatchObject({ token: label });
      expect(best?.probability).toBeGreaterThan(0.5);
    }
  });

  it('counts labels that begin alike as one, and leaves a little for all the rest', () => {
    const list = candidates('one of: interactive, interaction, batch', 'x');
    expect(tokens(list)).toEqual(['batch', 'intera']);
    const total = list.reduce((sum, { probability }) => sum + probability, 0);
    expect(total).toBeCloseTo(0.98, 6);
  });

  it('is what a directive says', () => {
    expect(candidates('', '[[sim {"decide":{"no":0.1,"yes":0.8}}]]')).toEqual([
      { token: 'yes', probability: 0.8 },
      { token: 'no', probability: 0.1 },
    ]);
  });
});
