import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTokens, TokensFault } from '../../auth/tokens-file.ts';

const sha256 = (token: string): string => createHash('sha256').update(token).digest('hex');
const one = sha256('one');
const two = sha256('two');

function faultsOf(text: string): string[] {
  try {
    parseTokens('tokens.yaml', text);
  } catch (error) {
    if (error instanceof TokensFault) return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('a file of named tokens', () => {
  it('is YAML, with what is not said filled in', () => {
    const text = `# ours\n- name: ann\n  sha256: ${one.toUpperCase()}\n- {name: ops.team-1, sha256: "${two}", class: batch, admin: true}\n`;
    expect(parseTokens('f', text)).toEqual([
      { name: 'ann', sha256: one, admin: false },
      { name: 'ops.team-1', sha256: two, class: 'batch', admin: true },
    ]);
  });

  it('is JSON as well, and may be empty', () => {
    expect(parseTokens('f', JSON.stringify([{ name: 'ann', sha256: one }]))).toHaveLength(1);
    expect(parseTokens('f', '')).toEqual([]);
    expect(parseTokens('f', '[]')).toEqual([]);
  });

  it.each([
    [
      `- {name: "a b", sha256: ${one}}`,
      ['tokens.yaml: [0].name: must be 1 to 64 letters, digits, "_", "." or "-"'],
    ],
    [
      `- {name: ${'x'.repeat(65)}, sha256: ${one}}`,
      ['tokens.yaml: [0].name: must be 1 to 64 letters, digits, "_", "." or "-"'],
    ],
    [
      `- {name: a/b, sha256: ${one}}`,
      ['tokens.yaml: [0].name: must be 1 to 64 letters, digits, "_", "." or "-"'],
    ],
    [
      `- {name: anonymous, sha256: ${one}}`,
      ['tokens.yaml: [0].name: must not be anonymous: that is who sends no name'],
    ],
    [
      `- {name: a, sha256: ${one.slice(1)}}`,
      ['tokens.yaml: [0].sha256: must be the 64 hex digits of the SHA-256 of the token'],
    ],
    [
      `- {name: a, sha256: ${one}, class: urgent}`,
      ['tokens.yaml: [0].class: Invalid option: expected one of "interactive"|"batch"'],
    ],
    [
      `- {name: a, sha256: ${one}, admin: 1}`,
      ['tokens.yaml: [0].admin: Invalid input: expected boolean, received number'],
    ],
    [
      `- {name: a, sha256: ${one}}\n- {name: a, sha256: ${two}}`,
      ['tokens.yaml: [1].name: is the same as that of [0]'],
    ],
    [
      `- {name: a, sha256: ${one}}\n- {name: b, sha256: ${one.toUpperCase()}}`,
      ['tokens.yaml: [1].sha256: is the same as that of [0]'],
    ],
    ['tokens: []', ['tokens.yaml: Invalid input: expected array, received object']],
    ['- name: a\n  sha256: "open', ['tokens.yaml: line 2: is neither YAML nor JSON (MISSING_CHAR)']],
  ])('%j is refused, a line a fault', (text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  });

  it('is told of all its faults at once', () => {
    expect(faultsOf(`- {name: "", sha256: x}\n- {name: b}`)).toHaveLength(3);
  });

  it('never has a value of it in a fault: it may be the token itself, put there by mistake', () => {
    const secret = fc.stringMatching(/^sk-[A-Za-z0-9]{20,60}$/);
    const places: ((token: string) => string)[] = [
      (token) => `- {name: a, sha256: ${token}}`,
      (token) => `- {name: a, sha256: ${one}, class: ${token}}`,
      (token) => `- {name: a, sha256: ${one}, admin: ${token}}`,
      (token) => `- {name: "${token} ", sha256: ${one}}`,
      (token) => `- ${token}`,
      (token) => token,
      (token) => `- {name: a, sha256: ${token}\n- [`,
      (token) => `"${token}`,
    ];
    fc.assert(
      fc.property(secret, fc.constantFrom(...places), (token, place) => {
        const faults = faultsOf(place(token));
        expect(faults.length).toBeGreaterThan(0);
        expect(faults.join('\n')).not.toContain(token);
      }),
      { numRuns: 200 },
    );
  });

  it('has at most 1,000 entries', () => {
    const entries = Array.from({ length: 1_001 }, (_, index) => ({
      name: `n${index}`,
      sha256: sha256(`${index}`),
    }));
    expect(faultsOf(JSON.stringify(entries))).toEqual(['tokens.yaml: must have at most 1000 entries']);
    expect(parseTokens('f', JSON.stringify(entries.slice(1)))).toHaveLength(1_000);
  });
});
