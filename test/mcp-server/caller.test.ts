import { describe, expect, it } from 'vitest';
import { callerSchema } from '../../contracts/ids.ts';
import { callerOf } from '../../mcp-server/mcp/caller.ts';

describe('the caller', () => {
  it('is the session of a client that has one', () => {
    expect(callerOf({ sessionId: 'abc', clientName: 'claude', address: '10.0.0.1' })).toBe('abc');
  });

  it('is name and address of a client without a session', () => {
    expect(callerOf({ clientName: 'claude-code', address: '10.0.0.1' })).toBe('claude-code@10.0.0.1');
    expect(callerOf({ clientName: 'codex', address: 'stdio' })).toBe('codex@stdio');
  });

  it.each([{}, { address: '10.0.0.1' }, { clientName: '  ' }, { sessionId: '   ' }])(
    'is anonymous when nothing says who it is: %o',
    (source) => {
      expect(callerOf(source)).toBe('anonymous');
    },
  );

  it('is cut at 128 bytes', () => {
    expect(callerOf({ clientName: 'x'.repeat(500), address: 'a' })).toBe('x'.repeat(128));
  });

  it.each(['agent\r\nx-evil: 1', 'агент', '名前', 'a\u0000b', '\u{1f600}'])(
    'is fit for a header whatever the client calls itself: %j',
    (clientName) => {
      const caller = callerOf({ clientName, address: '::1' });
      expect(caller).toMatch(/^[\x20-\x7e]+$/);
      expect(callerSchema.safeParse(caller).success).toBe(true);
      expect(new Headers({ 'x-fermata-caller': caller }).get('x-fermata-caller')).toBe(caller);
    },
  );
});
