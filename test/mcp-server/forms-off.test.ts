import { describe, expect, it } from 'vitest';
import { showsNoForms } from '../../mcp-server/mcp/forms-off.ts';

const request = (forms?: string): Request =>
  new Request('http://127.0.0.1/mcp', forms === undefined ? {} : { headers: { 'X-Fermata-Forms': forms } });

describe('forms', () => {
  it('are shown unless somebody says otherwise', () => {
    expect(showsNoForms({}, undefined)).toBe(false);
    expect(showsNoForms({ forms: 'on' }, request())).toBe(false);
    for (const other of ['on', '', 'offside']) expect(showsNoForms({}, request(other))).toBe(false);
  });

  it('are switched off by the header of a client, however it writes it', () => {
    for (const off of ['off', 'OFF', ' Off ']) expect(showsNoForms({}, request(off))).toBe(true);
  });

  it('are switched off for all clients of a server, which no client can undo', () => {
    expect(showsNoForms({ forms: 'off' }, undefined)).toBe(true);
    expect(showsNoForms({ forms: 'off' }, request('on'))).toBe(true);
  });
});
