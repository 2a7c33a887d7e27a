import { describe, expect, it } from 'vitest';
import { renderResult } from '../../../activities/tool-calls/render-result.ts';
import { call, noSignal, tool, useScriptedServers } from './scripted-servers.ts';

const { config: scripted, open, sent } = useScriptedServers();
const png = Buffer.from('89504e470d0a1a0a00000000', 'hex').toString('base64');
const image = { type: 'image', mimeType: 'image/png', data: png };
const text = { type: 'text', text: 'seen' };

async function resultOf(result: object) {
  const registry = open({ s: scripted({ tools: [tool('a')], onCall: { a: { result } } }) });
  return renderResult(await registry.call('s', call('a'), noSignal), 'shown');
}

describe('a result that breaks the protocol in one of its parts keeps all the others', () => {
  it.each<[string, object, string]>([
    ['base64 that is none', { ...image, data: '{}' }, 'its data is no base64]'],
    [
      'base64 with line breaks and no label',
      { type: 'image', data: `${png.slice(0, 8)}\n${png.slice(8)}` },
      '[image 2: image/png, 12 bytes]',
    ],
    ['an image without data', { type: 'image', mimeType: 'image/png' }, 'its data is no base64]'],
    ['a kind that nobody knows', { type: 'hologram', data: 'x' }, '[hologram, left out: not known here]'],
    [
      'a blob that is no base64',
      { type: 'resource', resource: { uri: 'a:b', blob: '{}' } },
      'left out: no text]',
    ],
    ['a resource without anything', { type: 'resource' }, 'seen'],
    ['a link without a name', { type: 'resource_link', uri: 'a:b' }, '[resource a:b]'],
    ['text that is a number', { type: 'text', text: 7 }, 'seen'],
    ['annotations of a kind of their own', { ...text, annotations: { priority: 'high' } }, 'seen'],
    ['null', null as unknown as object, 'seen'],
  ])('%s', async (_what, part, line) => {
    const { content, images, failed } = await resultOf({ content: [text, image, part] });
    expect(failed).toBe(false);
    expect(content).toMatch(/^seen\n\[image 1: image\/png, 12 bytes\]/);
    expect(content).toContain(line);
    expect(images?.[0]).toEqual({ mimeType: 'image/png', data: png });
    expect(sent('tools/call')).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    ['no content', {}, '(the tool gave no output)'],
    ['no content but structured', { structuredContent: { found: 3 } }, '{"found":3}'],
    ['structured content that is a list', { content: [], structuredContent: [1, 2] }, '[1,2]'],
    ['content that is a text', { content: 'seen' }, 'seen'],
    ['content that is one part', { content: text }, 'seen'],
    ['an error without content', { isError: true }, 'Error: the tool failed and gave no reason.'],
    ['an error flag that is a text', { content: [text], isError: 'true' }, 'Error: seen'],
  ])('%s', async (_what, result, content) => {
    expect(await resultOf(result)).toEqual({ content, failed: content.startsWith('Error') });
  });
});
