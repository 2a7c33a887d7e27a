import { describe, expect, it } from 'vitest';
import { scoreClassification, scoreLabels } from '../../../proxy/apis/decide-scores.ts';
import { Fault } from '../../../proxy/faults.ts';

function reply(tokens: Record<string, number>): Buffer {
  const top = Object.entries(tokens).map(([token, p]) => ({ token, logprob: Math.log(p) }));
  const content = [{ ...(top[0] ?? { token: '', logprob: -99 }), top_logprobs: top }];
  return Buffer.from(JSON.stringify({ choices: [{ logprobs: { content } }] }));
}

describe('labels scored by the first token', () => {
  it('are weighed by the tokens that are or begin them, whatever their case and punctuation', () => {
    const scored = scoreLabels(reply({ ' Ref': 0.4, 'refund.': 0.2, quest: 0.2, the: 0.2 }), [
      'refund',
      'question',
      'other',
    ]);
    expect(scored.label).toBe('refund');
    expect(scored.probabilities['refund']).toBeCloseTo(0.75);
    expect(scored.probabilities['question']).toBeCloseTo(0.25);
    expect(scored.unscored).toEqual(['other']);
  });

  it('share a token that begins several of them, but not one that is one of them', () => {
    const scored = scoreLabels(reply({ pos: 0.6, no: 0.4 }), ['positive', 'possibly', 'no', 'none']);
    expect(scored.probabilities).toMatchObject({
      positive: expect.closeTo(0.3),
      possibly: expect.closeTo(0.3),
    });
    expect(scored.probabilities['no']).toBeCloseTo(0.4);
    expect(scored.unscored).toEqual(['none']);
  });

  it('sum to 1 over the labels that were scored', () => {
    const { probabilities } = scoreLabels(reply({ yes: 0.01, no: 0.002 }), ['yes', 'no']);
    expect(Object.values(probabilities).reduce((sum, value) => sum + value, 0)).toBeCloseTo(1);
  });

  it('fall back on the token itself when the engine lists no others', () => {
    const content = [{ token: 'no', logprob: -0.1 }];
    const bare = Buffer.from(JSON.stringify({ choices: [{ logprobs: { content } }] }));
    expect(scoreLabels(bare, ['yes', 'no'])).toEqual({
      label: 'no',
      probabilities: { no: 1 },
      unscored: ['yes'],
    });
  });

  it.each([
    ['no log-probabilities', Buffer.from('{"choices":[{"message":{"content":"yes"}}]}')],
    ['no JSON', Buffer.from('yes')],
    ['tokens that mean none of them', reply({ perhaps: 0.9, '\n': 0.1 })],
  ])('are an error, not a guess, with %s', (_, bytes) => {
    expect(() => scoreLabels(bytes, ['yes', 'no'])).toThrow(Fault);
  });
});

describe('a classification', () => {
  const classified = (more: object): Buffer => Buffer.from(JSON.stringify({ data: [{ index: 0, ...more }] }));

  it('names the likeliest label and the others by their index', () => {
    expect(
      scoreClassification(classified({ label: 'spam', probs: [0.1, 0.7, 0.2], num_classes: 3 })),
    ).toEqual({
      label: 'spam',
      probabilities: { LABEL_0: 0.1, spam: 0.7, LABEL_2: 0.2 },
      unscored: [],
    });
  });

  it('without probabilities is its label alone', () => {
    expect(scoreClassification(classified({ label: 'spam' })).probabilities).toEqual({ spam: 1 });
  });

  it('that is none is an error', () => {
    expect(() => scoreClassification(Buffer.from('{"data":[]}'))).toThrow(Fault);
  });
});
