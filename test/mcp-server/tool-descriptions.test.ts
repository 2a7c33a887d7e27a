import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RunService } from '../../mcp-server/runs/run-service.ts';
import { defineTools } from '../../mcp-server/mcp/tool-definitions.ts';
import { descriptions, serverInstructions } from '../../mcp-server/mcp/tool-descriptions.ts';

const tools = defineTools({
  service: {} as RunService,
  states: { mint: async () => await Promise.resolve('') },
});

describe('the tools as clients see them', () => {
  it('have the documented names, in the documented order', () => {
    expect(tools.map((tool) => tool.name)).toEqual([
      'spawn',
      'await',
      'run',
      'status',
      'cancel',
      'approve',
      'tools',
      'decide',
    ]);
    expect(Object.keys(descriptions)).toEqual(tools.map((tool) => tool.name));
  });

  it.each(Object.entries(descriptions))('describe %s in under 2 KB', (_, text) => {
    expect(Buffer.byteLength(text)).toBeLessThan(2_048);
  });

  it('say when to fan out, and that one await on many handles is the way', () => {
    for (const text of [descriptions.spawn, descriptions.await, serverInstructions]) {
      expect(text).toMatch(/await once|await ONCE|one await on many handles/);
    }
    expect(descriptions.spawn).toContain('fan out');
  });

  it('have argument schemas that clients can read: objects with named, described, typed arguments', () => {
    for (const tool of tools) {
      const schema = z.toJSONSchema(tool.input, { io: 'input' });
      expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
      for (const property of Object.values(schema.properties ?? {})) {
        expect(property).toHaveProperty('type');
      }
    }
  });

  it('describe every argument', () => {
    for (const tool of tools) {
      const schema = z.toJSONSchema(tool.input, { io: 'input' });
      for (const property of Object.values(schema.properties ?? {})) {
        expect(property).toHaveProperty('description');
      }
    }
  });
});
