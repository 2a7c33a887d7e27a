import { describe, expect, it } from 'vitest';
import { tappedMessageSchema, type TappedMessage } from './mcp-tap.ts';
import { readTapped } from './tapped-session.ts';

const passed = (from: TappedMessage['from'], atMs: number, message: object): TappedMessage => ({
  from,
  atMs,
  versionHeader: null,
  message: tappedMessageSchema.parse(message),
});

const initialize = {
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'agent', version: '1' },
    capabilities: { elicitation: {} },
  },
};

describe('what passed between a client and our server', () => {
  it('says who the client is, what was agreed on and that it declares forms', () => {
    const told = readTapped([
      passed('client', 0, initialize),
      passed('server', 1, { id: 0, result: { protocolVersion: '2025-06-18' } }),
    ]);
    expect(told).toMatchObject({ client: 'agent 1', version: '2025-06-18', elicitation: '{}' });
  });

  it('pairs calls and forms with their answers, though both sides count from the same id', () => {
    const told = readTapped([
      passed('client', 0, {
        id: 1,
        method: 'tools/call',
        params: { name: 'await', _meta: { progressToken: 1 } },
      }),
      passed('server', 10, { id: 1, method: 'elicitation/create', params: { message: 'Allow?' } }),
      passed('client', 30, { id: 1, result: { action: 'cancel' } }),
      passed('server', 50, { id: 1, result: { content: [] } }),
    ]);
    expect(told.calls).toEqual([{ tool: 'await', askedForProgress: true, tookMs: 50, isError: false }]);
    expect(told.forms).toEqual([{ message: 'Allow?', answer: 'cancel', tookMs: 20 }]);
  });

  it('counts as taken back only calls of tools, and as unanswered those without an answer', () => {
    const told = readTapped([
      passed('client', 0, { id: 1, method: 'tools/call', params: { name: 'await' } }),
      passed('client', 1, { id: 2, method: 'tools/list' }),
      passed('client', 2, { method: 'notifications/cancelled', params: { requestId: 2 } }),
    ]);
    expect(told).toMatchObject({ cancelled: 0, toolsListed: false, calls: [{ tookMs: null }] });
    const cancel = { method: 'notifications/cancelled', params: { requestId: 1 } };
    const call = { id: 1, method: 'tools/call', params: { name: 'await' } };
    expect(readTapped([passed('client', 0, call), passed('client', 9, cancel)]).cancelled).toBe(1);
    const answer = passed('server', 5, { id: 1, result: {} });
    expect(readTapped([passed('client', 0, call), answer, passed('client', 9, cancel)]).cancelled).toBe(0);
  });
});
