import { describe, expect, it } from 'vitest';
import type { ListedTool } from '../../contracts/tool-listing.ts';
import { jsonBytes } from '../../mcp-server/runs/fair-cut.ts';
import { tellDecision, tellTools } from '../../mcp-server/mcp/listing-text.ts';
import { refuseUnknownTools } from '../../mcp-server/runs/tool-listing.ts';

function tool(server: string, name: string, over: Partial<ListedTool> = {}): ListedTool {
  return {
    name: `${server}__${name}`,
    server,
    serverTool: name,
    description: `does ${name}`,
    inputSchema: { type: 'object' },
    annotations: {},
    ...over,
  };
}

describe('what tools tells', () => {
  it('lists names by server, with what they do', () => {
    const tools = [
      tool('wiki', 'read', { annotations: { readOnlyHint: true } }),
      tool('disk', 'erase', { annotations: { destructiveHint: true } }),
      tool('wiki', 'find'),
    ];
    expect(tellTools({ tools, warnings: ['attic: away'] }).text.split('\n')).toEqual([
      'disk:',
      '  disk__erase [destructive]: does erase',
      'wiki:',
      '  wiki__read [reads only]: does read',
      '  wiki__find: does find',
      'warning: attic: away',
    ]);
  });

  it('says that there are none', () => {
    expect(tellTools({ tools: [], warnings: [] }).text).toContain('No tools');
  });

  it('keeps tools with long names and all annotations, and long warnings, within one answer', () => {
    const annotations = {
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: true,
    };
    const tools = Array.from({ length: 3_000 }, (_, index) =>
      tool('a-server-with-a-name', `read-${'x'.repeat(60)}-${index}`, { annotations }),
    );
    const warnings = Array.from({ length: 100 }, (_, index) => `server ${index}: ${'w'.repeat(2_000)}`);
    const { text, structured } = tellTools({ tools, warnings });
    expect(jsonBytes(text)).toBeLessThan(90_000);
    expect(Buffer.byteLength(JSON.stringify(structured))).toBeLessThan(90_000);
    expect(text).toContain('more tools are left out');
    expect(text).toContain('server 0:');
  });

  it.each([10, 200, 450, 3_000])('keeps %i tools with long descriptions within one answer', (count) => {
    const tools = Array.from({ length: count }, (_, index) =>
      tool('wiki', `read-${index}`, { description: 'd'.repeat(5_000) }),
    );
    const { text, structured } = tellTools({ tools, warnings: [] });
    expect(jsonBytes(text)).toBeLessThan(70_000);
    expect(structured['total']).toBe(count);
    const named = text.match(/wiki__read-\d+/g)?.length ?? 0;
    expect(named).toBeGreaterThanOrEqual(Math.min(count, 500));
    expect(structured['tools']).toHaveLength(named);
    expect(text.includes('more tools are left out')).toBe(named < count);
  });
});

describe('refusing unknown tools', () => {
  const listing = { tools: [tool('wiki', 'read')], warnings: [] };

  it('is null when all are offered', () => {
    expect(refuseUnknownTools('tools', ['wiki__read'], listing)).toBeNull();
  });

  it('names what is not offered and where to look', () => {
    expect(refuseUnknownTools('tools', ['wiki__read', 'y'], listing)).toBe(
      "tools: 'y' is not offered by any server; see the tools tool",
    );
    expect(refuseUnknownTools('tools', ['y', 'z'], listing)).toBe(
      "tools: 'y', 'z' are not offered by any server; see the tools tool",
    );
  });

  it('says which servers could not be asked, since a tool may be one of theirs', () => {
    expect(refuseUnknownTools('tools', ['y'], { tools: [], warnings: ['attic: away'] })).toContain(
      '(not listed now: attic: away)',
    );
  });

  it('stays short however much was asked for', () => {
    const names = Array.from({ length: 256 }, (_, index) => `${index}`.repeat(500));
    expect(refuseUnknownTools('tools', names, listing)?.length).toBeLessThan(1_200);
  });
});

describe('what decide tells', () => {
  it('gives the label, then the odds from the highest down, and what was not scored', () => {
    const decision = { label: 'b', probabilities: { a: 0.25, b: 0.75 }, unscored: ['c'] };
    expect(tellDecision(decision)).toEqual({
      text: 'b (b 0.750, a 0.250; not scored: c)',
      structured: decision,
    });
  });
});
