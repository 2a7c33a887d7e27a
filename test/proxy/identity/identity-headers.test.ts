import { describe, expect, it } from 'vitest';
import { Fault } from '../../../proxy/faults.ts';
import { readIdentityHeaders } from '../../../proxy/identity/identity-headers.ts';

function refusal(headers: Record<string, string>): string {
  try {
    readIdentityHeaders(headers);
  } catch (error) {
    if (error instanceof Fault) return `${error.code}: ${error.message}`;
  }
  return 'accepted';
}

describe('identity headers', () => {
  it('default to an anonymous interactive turn of no named run', () => {
    expect(readIdentityHeaders({})).toEqual({
      run: null,
      sessionRun: null,
      class: 'interactive',
      caller: 'anonymous',
      named: false,
      turnNumber: null,
    });
  });

  it.each([
    ['x-fermata-run-id', { run: 'r 1' }, 'r 1'],
    ['x-luftpause-run-id', { run: 'r 1' }, 'r 1'],
    ['x-fermata-class', { class: 'batch' }, 'batch'],
    ['x-luftpause-class', { class: 'batch' }, 'batch'],
    ['x-fermata-caller', { caller: 'lab' }, 'lab'],
    ['x-luftpause-caller', { caller: 'lab' }, 'lab'],
    ['x-fermata-turn', { turnNumber: 12 }, '12'],
  ])('takes %s', (name, expected, value) => {
    expect(readIdentityHeaders({ [name]: value })).toMatchObject(expected);
  });

  it('prefers our own name to the alias', () => {
    const headers = { 'x-luftpause-run-id': 'theirs', 'x-fermata-run-id': 'ours' };
    expect(readIdentityHeaders(headers).run).toBe('ours');
  });

  it.each([
    ['x-fermata-run-id', '', 'must be 1 to 128 bytes of printable ASCII'],
    ['x-fermata-run-id', 'x'.repeat(129), 'must be 1 to 128 bytes of printable ASCII'],
    ['x-luftpause-run-id', 'caf\u00e9', 'must be 1 to 128 bytes of printable ASCII'],
    ['x-fermata-run-id', 'a\tb', 'must be 1 to 128 bytes of printable ASCII'],
    ['x-fermata-class', 'Interactive', 'must be interactive or batch'],
    ['x-luftpause-class', 'urgent', 'must be interactive or batch'],
    ['x-fermata-class', '', 'must be interactive or batch'],
    ['x-fermata-turn', '-1', 'must be a whole number of at most 15 digits'],
    ['x-fermata-turn', '1.5', 'must be a whole number of at most 15 digits'],
    ['x-fermata-turn', '9'.repeat(16), 'must be a whole number of at most 15 digits'],
  ])('refuse %s: %j and say which header and which rule', (name, value, rule) => {
    expect(refusal({ [name]: value })).toBe(`invalid_header: ${name} ${rule}`);
  });

  it('take a run id of exactly 128 bytes, and cut a caller at 128', () => {
    const long = 'x'.repeat(128);
    expect(readIdentityHeaders({ 'x-fermata-run-id': long }).run).toBe(long);
    expect(readIdentityHeaders({ 'x-fermata-caller': 'y'.repeat(300) }).caller).toBe('y'.repeat(128));
    expect(readIdentityHeaders({ 'x-fermata-caller': '' }).caller).toBe('anonymous');
  });
});

describe('session headers of known agents', () => {
  const names = [
    'x-claude-code-session-id',
    'session_id',
    'session-id',
    'x-session-affinity',
    'x-session-id',
  ];

  it.each(names)('%s names a run that stays the same', (name) => {
    const first = readIdentityHeaders({ [name]: 'abc' }).sessionRun;
    expect(first).toMatch(/^ses_[A-Za-z0-9_-]{22}$/);
    expect(readIdentityHeaders({ [name]: 'abc' }).sessionRun).toBe(first);
    expect(readIdentityHeaders({ [name]: 'abd' }).sessionRun).not.toBe(first);
  });

  it('are scoped by caller and by header', () => {
    const runs = [
      ...names.map((name) => readIdentityHeaders({ [name]: 'abc' }).sessionRun),
      readIdentityHeaders({ session_id: 'abc', 'x-fermata-caller': 'other' }).sessionRun,
    ];
    expect(new Set(runs).size).toBe(runs.length);
  });

  it('of one request count in their order: the first one that is there', () => {
    const both = readIdentityHeaders({ 'x-session-id': 'b', 'x-session-affinity': 'a' }).sessionRun;
    expect(both).toBe(readIdentityHeaders({ 'x-session-affinity': 'a' }).sessionRun);
  });

  it.each([
    ['x-claude-code-session-id', 'x-claude-code-agent-id'],
    ['session-id', 'thread-id'],
  ])('%s names a run of its own for each sub-agent in %s', (session, agent) => {
    const runOf = (headers: Record<string, string>): string | null =>
      readIdentityHeaders({ [session]: 'abc', ...headers }).sessionRun;
    const runs = [runOf({}), runOf({ [agent]: 'first' }), runOf({ [agent]: 'second' })];
    expect(new Set(runs).size).toBe(3);
    expect(runOf({ [agent]: 'first' })).toBe(runs[1]);
    expect(runOf({ [agent]: '' })).toBe(runs[0]);
    expect(readIdentityHeaders({ [agent]: 'first' }).sessionRun).toBeNull();
  });

  it('may be long or odd: they are hashed', () => {
    expect(readIdentityHeaders({ 'session-id': `\u00ff${'z'.repeat(5000)}` }).sessionRun).toMatch(/^ses_/);
  });
});
