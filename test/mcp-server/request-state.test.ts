import type { ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { openGrant } from '../../auth/grant.ts';
import type { Caller, Handle } from '../../contracts/ids.ts';
import {
  bindingOf,
  createRequestStates,
  readWaitState,
  type StateKeySource,
  type WaitState,
} from '../../mcp-server/mcp/request-state.ts';
import { askerOf } from '../../mcp-server/runs/asker.ts';

const temporal = { address: '127.0.0.1:7233', namespace: 'default' };
const withToken: StateKeySource = { serviceToken: 'a-token-of-the-services', temporal };
const context = {} as ServerContext;
const handle = `run_${'a'.repeat(22)}` as Handle;

const ann = askerOf('ann' as Caller, openGrant);
const bob = askerOf('bob' as Caller, openGrant);
const input = { handles: [handle], mode: 'all', timeoutSeconds: 45 };

function stateOf(over: Partial<WaitState> = {}): WaitState {
  return {
    boundTo: bindingOf(ann, 'await', input),
    handle: null,
    leftMs: 12_345,
    rounds: 1,
    questions: [{ handle, approvalId: 'apr_1', tool: 'desk__delete_page' }],
    asked: ['apr_1'],
    notes: ['the user allowed x'],
    ...over,
  };
}

describe('what a call that was ended with questions gets back', () => {
  it.each<StateKeySource>([withToken, { serviceToken: null, temporal }])(
    'is taken by another server with the same key source, as it was: %j',
    async (source) => {
      const text = await createRequestStates(source).mint(stateOf());
      const verified = await createRequestStates({ ...source }).verify(text, context);
      expect(readWaitState(verified, 'await', bindingOf(ann, 'await', input))).toEqual(stateOf());
    },
  );

  it('is refused from a server with another key', async () => {
    const sources: StateKeySource[] = [
      withToken,
      { ...withToken, serviceToken: 'another-token-of-services' },
      { serviceToken: null, temporal },
      { serviceToken: null, temporal: { ...temporal, namespace: 'other' } },
      { serviceToken: null, temporal: { ...temporal, address: '127.0.0.1:7234' } },
    ];
    for (const [maker, made] of sources.entries()) {
      const text = await createRequestStates(made).mint(stateOf());
      for (const [reader, read] of sources.entries()) {
        const verified = createRequestStates(read)
          .verify(text, context)
          .then(
            () => 'taken',
            () => 'refused',
          );
        expect(await verified).toBe(maker === reader ? 'taken' : 'refused');
      }
    }
  });

  it('is refused with any one of its characters changed', async () => {
    const states = createRequestStates(withToken);
    const text = await states.mint(stateOf());
    let refused = 0;
    // The last character of a digest has bits that decoding drops.
    for (let at = 0; at < text.length - 1; at += 1) {
      const other = text[at] === 'A' ? 'B' : 'A';
      const changed = `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
      const verified = states.verify(changed, context);
      await verified.catch(() => (refused += 1));
    }
    expect(refused).toBe(text.length - 1);
  });

  it('is told to be too old after its time, with what to do', async () => {
    const states = createRequestStates(withToken, -1);
    const verified = await states.verify(await states.mint(stateOf()), context);
    const read = (): unknown => readWaitState(verified, 'await', bindingOf(ann, 'await', input));
    expect(read).toThrow(/older than an hour, so nothing was decided; call await again/);
  });

  it('belongs to one asker, one tool and its arguments', async () => {
    const states = createRequestStates(withToken);
    const verified = await states.verify(await states.mint(stateOf()), context);
    for (const [tool, boundTo] of [
      ['await', bindingOf(bob, 'await', input)],
      ['await', bindingOf(ann, 'await', { ...input, timeoutSeconds: 46 })],
      ['await', bindingOf(ann, 'await', { ...input, handles: [] })],
      ['run', bindingOf(ann, 'run', input)],
      ['run', bindingOf(ann, 'await', input)],
    ] as const) {
      expect(() => readWaitState(verified, tool, boundTo)).toThrow(
        /belongs to another call .* so nothing was decided/,
      );
    }
  });

  it('holds nothing of whom it belongs to that can be read', async () => {
    const text = await createRequestStates(withToken).mint(stateOf());
    const readable = Buffer.from(text.split('.')[1] ?? '', 'base64url').toString();
    expect(readable).toContain('leftMs');
    expect(readable).not.toContain('ann');
    expect(readable).not.toContain(withToken.serviceToken);
  });

  it.each([undefined, null, 'text', {}, stateOf({ boundTo: 'other' }), { ...stateOf(), rounds: 0 }])(
    'is refused when it is not of its shape: %j',
    (verified) => {
      expect(() => readWaitState(verified, 'await', bindingOf(ann, 'await', input))).toThrow(
        /belongs to another call/,
      );
    },
  );
});
