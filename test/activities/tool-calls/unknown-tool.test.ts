import { describe, expect, it } from 'vitest';
import { unknownToolRefusal } from '../../../activities/tool-calls/unknown-tool.ts';
import type { ListedTool } from '../../../contracts/tool-listing.ts';

const tools = [
  ['fs__search_files', 'fs', 'search_files'],
  ['bash', 'sh', 'bash'],
].map(([name = '', server = '', serverTool = '']): ListedTool => ({
  name,
  server,
  serverTool,
  description: '',
  inputSchema: {},
  annotations: {},
}));

describe('an unknown tool name (A19)', () => {
  it.each([
    ['Bash', "Did you mean 'bash'?"],
    ['search_files', "Did you mean 'fs__search_files'?"],
    ['fs.search-files', "Did you mean 'fs__search_files'?"],
    ['generic_command', 'The tools are: fs__search_files, bash.'],
    ['', 'a tool without a name'],
  ])('%s gets a hint', (name, hint) => {
    const refusal = unknownToolRefusal(name, tools);
    expect(refusal.kind).toBe('unknown-tool');
    expect(refusal.text).toContain(hint);
  });

  it('is told when there are no tools at all', () => {
    expect(unknownToolRefusal('bash', []).text).toContain('There are no tools here');
  });
});
