import { describe, expect, it } from 'vitest';
import { selectScenarios } from './scenarios.ts';

const names = (...wanted: string[]): string[] => selectScenarios(wanted).map(({ name }) => name);

describe('the clients to drive', () => {
  it('are all but those that are only driven when they are named', () => {
    expect(names()).toContain('claude-code');
    expect(names()).not.toContain('cline');
    expect(names('cline')).toEqual(['cline']);
  });

  it('are selected by group and by name', () => {
    expect(names('qwen-code', 'gemini-cli')).toEqual([
      'gemini-cli-fleet',
      'gemini-cli-fleet-person',
      'gemini-cli-patience',
      'qwen-code',
    ]);
    expect(names('codex')).toEqual(expect.arrayContaining(['codex', 'codex-both-doors', 'codex-agents']));
    expect(names('codex-agents', 'opencode-fleet')).toEqual(['codex-agents', 'opencode-fleet']);
  });

  it('are refused with the names that are known when one is unknown', () => {
    expect(() => names('opencode', 'emacs')).toThrow(
      /'emacs' is no client known here; known are claude-code/,
    );
  });

  it('have names of their own', () => {
    expect(new Set(names()).size).toBe(names().length);
  });
});
