import { describe, expect, it } from 'vitest';
import { chatDialect } from '../../../proxy/reply/chat-replies.ts';
import { DialectStreamReader } from '../../../proxy/reply/dialect-stream-reader.ts';
import { UsageWithholder } from '../../../proxy/reply/usage-withholder.ts';
import { chunk, sse, usageChunk } from '../stack.ts';
import { streamCases } from '../stream-cases.ts';
import { generateStream, type GeneratedStream } from './generated-streams.ts';

function through(...pieces: readonly Buffer[]): Buffer {
  const withholder = new UsageWithholder(new DialectStreamReader(chatDialect));
  return Buffer.concat([...pieces.flatMap((piece) => withholder.push(piece)), ...withholder.end()]);
}

/** Recorded streams: none of their usage-only chunks may reach the client, everything else must. */
const recorded: GeneratedStream[] = streamCases().map(({ name, writes }) => ({
  name,
  bytes: Buffer.concat(writes),
  seen: Buffer.concat(writes.filter((write) => !isUsageOnly(write.toString('utf8')))),
}));

function isUsageOnly(text: string): boolean {
  return text.includes('"usage"') && !text.includes('"delta"');
}

const generated = Array.from({ length: 180 }, (_, seed) => generateStream(seed));
const streams = [...recorded, ...generated];

describe('a streamed reply through the proxy equals the engine\u2019s, byte for byte, in chunk order', () => {
  it('is checked with at least 200 recorded and generated streams, most of them with a usage chunk', () => {
    expect(streams.length).toBeGreaterThanOrEqual(200);
    const withUsage = streams.filter(({ bytes, seen }) => bytes.length > seen.length);
    expect(withUsage.length).toBeGreaterThan(100);
  });

  it.each(streams)('$name, cut at every possible place', ({ bytes, seen }) => {
    const wrong: string[] = [];
    for (let at = 0; at <= bytes.length; at++) {
      const out = through(bytes.subarray(0, at), bytes.subarray(at));
      if (!out.equals(seen)) wrong.push(`cut at ${at}: ${out.toString('utf8')}`);
    }
    expect(wrong).toEqual([]);
  });

  it.each(streams)('$name, one byte at a time, each byte from a buffer of its own', ({ bytes, seen }) => {
    const out = through(...[...bytes].map((byte) => Buffer.of(byte)));
    expect(out.toString('utf8')).toBe(seen.toString('utf8'));
  });
});

describe('the usage chunk that the client did not ask for', () => {
  const start = sse(chunk({ content: 'hi' }));
  const finish = sse(chunk({}, 'stop'));
  const usage = sse(usageChunk);

  it('delays no event: each goes on with the last byte of its blank line', () => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const withholder = new UsageWithholder(new DialectStreamReader(chatDialect));
      const text = (start + finish).replaceAll('\n', lineEnd);
      let seen = '';
      const late: string[] = [];
      for (const [index, byte] of [...Buffer.from(text)].entries()) {
        seen += Buffer.concat(withholder.push(Buffer.of(byte))).toString('utf8');
        const sent = text.slice(0, index + 1);
        // A CR may yet be followed by an LF; the event does not wait for it.
        if (sent.endsWith(`${lineEnd}${lineEnd}`) && seen !== sent) late.push(sent);
      }
      expect(late).toEqual([]);
      expect(seen).toBe(text);
    }
  });

  it('delays no comment, which is there to keep the connection alive', () => {
    const withholder = new UsageWithholder(new DialectStreamReader(chatDialect));
    for (const byte of Buffer.from(': ping\n: pong\r\n\n:\n')) {
      expect(withholder.push(Buffer.of(byte))).toHaveLength(1);
    }
  });

  it('is dropped wherever it comes: before any text, amid the stream, and more than once', () => {
    const text = usage + start + usage + usage + start + finish + usage + sse('[DONE]');
    expect(through(Buffer.from(text)).toString('utf8')).toBe(start + start + finish + sse('[DONE]'));
  });

  it('is dropped with an LF that comes late, and leaves comments before it alone', () => {
    const crlf = usage.replaceAll('\n', '\r\n');
    const withholder = new UsageWithholder(new DialectStreamReader(chatDialect));
    expect(withholder.push(Buffer.from(crlf.slice(0, -1)))).toEqual([]);
    expect(withholder.push(Buffer.from('\n'))).toEqual([]);
    expect(Buffer.concat(withholder.push(Buffer.from('\n'))).toString('utf8')).toBe('\n');
    expect(through(Buffer.from(`: ping\n${usage}`)).toString('utf8')).toBe(': ping\n');
  });

  it('keeps one read one write when nothing is dropped', () => {
    const withholder = new UsageWithholder(new DialectStreamReader(chatDialect));
    const all = Buffer.from(start + finish + sse('[DONE]'));
    expect(withholder.push(all)).toEqual([all]);
  });

  it('is still read: dropping it loses no fact', () => {
    const reader = new DialectStreamReader(chatDialect);
    const withholder = new UsageWithholder(reader);
    withholder.push(Buffer.from(start + finish + usage.slice(0, 40)));
    withholder.push(Buffer.from(usage.slice(40)));
    withholder.end();
    expect(reader.facts()).toMatchObject({
      usage: { promptTokens: 11, completionTokens: 2 },
      finishReason: 'stop',
    });
  });

  it('is dropped without its blank line at the end of the stream', () => {
    expect(through(Buffer.from(finish + usage.trimEnd())).toString('utf8')).toBe(finish);
  });

  it('is not what a chunk with choices, or without usage, is', () => {
    const others = sse(
      { ...chunk({ content: 'x' }), usage: { prompt_tokens: 1 } },
      { ...usageChunk, usage: null },
      { choices: [], prompt_filter_results: [] },
    );
    expect(through(Buffer.from(finish + others)).toString('utf8')).toBe(finish + others);
  });

  it('lets an event pass that is larger than any usage chunk, as soon as that is plain', () => {
    const withholder = new UsageWithholder(new DialectStreamReader(chatDialect));
    withholder.push(Buffer.from(finish));
    const large = Buffer.from(`data: {"choices":[],"usage":{"x":"${'y'.repeat(70_000)}`);
    expect(Buffer.concat(withholder.push(large)).equals(large)).toBe(true);
    expect(Buffer.concat(withholder.push(Buffer.from('z"}}\n\n'))).toString('utf8')).toBe('z"}}\n\n');
    expect(withholder.push(Buffer.from(usage))).toEqual([]);
    expect(Buffer.concat(withholder.push(Buffer.from(sse('[DONE]')))).toString('utf8')).toBe(sse('[DONE]'));
  });
});
