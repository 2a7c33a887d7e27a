import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recoverTextCalls } from '../../../activities/tool-calls/recover-text-calls.ts';

const known = new Set(['create_file', 'get_weather', 'bash', 'write_file']);

function recovered(content: string): unknown {
  const result = recoverTextCalls(content, known);
  if (result === null) return null;
  return {
    calls: result.calls.map((call) => [call.name, JSON.parse(call.arguments) as unknown]),
    content: result.content,
  };
}

describe('calls in tags (A13)', () => {
  it.each([
    [
      'I will check both towns first.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nKyoto\n</parameter>\n</function>\n</tool_call>',
      [['get_weather', { city: 'Kyoto' }]],
      'I will check both towns first.',
    ],
    [
      '<function=create_file>\n<parameter=path> todo.md\n<parameter=text> milk',
      [['create_file', { path: 'todo.md', text: 'milk' }]],
      '',
    ],
    [
      '<tool_call><function=get_weather><parameter=city>Kyoto</parameter></function></tool_call>\n<tool_call><function=get_weather><parameter=city>Lima</parameter></function></tool_call>',
      [
        ['get_weather', { city: 'Kyoto' }],
        ['get_weather', { city: 'Lima' }],
      ],
      '',
    ],
    [
      '<tool_call>\n<function=create_file>\n<parameter=path>\nm.py\n</parameter>\n<parameter=text>\nif a < b:\n    print("x")\n\nprint("y")\n</parameter>\n</function>\n</tool_call>',
      [['create_file', { path: 'm.py', text: 'if a < b:\n    print("x")\n\nprint("y")' }]],
      '',
    ],
    [
      '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Kyoto"}}',
      [['get_weather', { city: 'Kyoto' }]],
      '',
    ],
    [
      '<tool_call>{"name": "get_weather", "arguments": {"city": "Kyoto"}</tool_call>',
      [['get_weather', { city: 'Kyoto' }]],
      '',
    ],
    [
      '<tool_call>{"name": "get_weather", "arguments": {"city": "Kyoto"}}</tool_call>\n<tool_call>{"name": "get_weather", "arguments": {"city": "Lima"}}</tool_call>\nDone.',
      [
        ['get_weather', { city: 'Kyoto' }],
        ['get_weather', { city: 'Lima' }],
      ],
      'Done.',
    ],
  ])('%s', (content, calls, left) => {
    expect(recovered(content)).toEqual({ calls, content: left });
  });
});

describe('calls as JSON or after a mark (A15)', () => {
  it.each([
    ['{"name": "get_weather", "parameters": {"city": "Perth"}}'],
    ['<|python_start|>{"name": "get_weather", "parameters": {"city": "Perth"}}<|python_end|>'],
    ['<|python_tag|>{"type": "function", "name": "get_weather", "parameters": {"city": "Perth"}}'],
    ['<|python_tag|>get_weather(city="Perth")'],
    ['```json\n{"name": "get_weather", "arguments": {"city": "Perth"}}\n```'],
    ['[{"name": "get_weather", "arguments": {"city": "Perth"}}]'],
    ['{"function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Perth\\"}"}}'],
  ])('%s', (content) => {
    expect(recovered(content)).toEqual({ calls: [['get_weather', { city: 'Perth' }]], content: '' });
  });

  it('leaves JSON alone that only looks like a call', () => {
    expect(recovered('{"name": "Perth", "parameters": {"population": 2000000}}')).toBeNull();
    expect(recovered('get_weather(city="Perth")')).toBeNull();
    expect(recovered('{"name": "get_weather"}')).toBeNull();
  });
});

describe('examples and mentions (A17)', () => {
  it.each([
    [
      'To show the syntax only:\n\n```xml\n<tool_call>\n<function=bash>\n<parameter=command>rm -rf build</parameter>\n</function>\n</tool_call>\n```\n\nNothing was run.',
    ],
    [
      'Write `<tool_call>{"name":"bash","arguments":{"command":"rm -rf build"}}</tool_call>` to run something.',
    ],
    ['The model starts a call with <tool_call> and then the function name follows.'],
    ['Say {"name": "bash", "arguments": {"command": "ls"}} to list.'],
    ['<tool_call>{"name": "bash", "arguments": {"command": "rm -rf'],
    ['<tool_call><function=unknown><parameter=a>b</parameter></function></tool_call>'],
    ['First:\n```json\n{"name": "bash", "arguments": {"command": "rm -rf build"}}\n```\nThat is all of it.'],
  ])('%s', (content) => {
    expect(recovered(content)).toBeNull();
  });
});

describe('recovery', () => {
  it('names known tools only, whatever the text', () => {
    const piece = fc.constantFrom(
      '<tool_call>',
      '</tool_call>',
      '<function=bash>',
      '<function=x>',
      '<parameter=command>',
      '</parameter>',
      '</function>',
      '{"name":"bash","arguments":{"command":"ls"}}',
      '```',
      '`',
      'prose ',
      '\n',
      '{',
      '}',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const result = recoverTextCalls(pieces.join(''), known);
        for (const call of result?.calls ?? []) {
          expect(known.has(call.name)).toBe(true);
          expect(typeof JSON.parse(call.arguments)).toBe('object');
        }
      }),
      { numRuns: 500 },
    );
  });
});
