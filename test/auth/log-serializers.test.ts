import { pino } from 'pino';
import { expect, it } from 'vitest';
import { logSerializers } from '../../auth/log-serializers.ts';

it('a log line has no secret, wherever a header list or an error brought it', () => {
  const lines: string[] = [];
  const logger = pino({ serializers: logSerializers }, { write: (line: string) => void lines.push(line) });
  const headers = { Authorization: 'Bearer S3CRET', 'x-api-key': 'S3CRET', accept: 'text/plain' };
  logger.info({ headers, authorization: 'S3CRET', token: 'S3CRET' }, 'a');
  logger.info({ request: { headers, path: '/v1' }, req: { raw: { headers } } }, 'b');
  logger.child({ service: 's' }).warn({ headers: Object.entries(headers).flat() }, 'c');
  logger.warn({ response: { headers: new Headers({ 'set-cookie': 'S3CRET', via: 'x' }) } }, 'd');
  logger.error({ err: Object.assign(new Error('it broke'), { headers, options: { headers } }) }, 'e');
  const server = { url: 'http://tool', headers: { 'x-own': 'S3CRET' }, env: { KEY: 'S3CRET' } };
  logger.info({ mcpServers: { web: server } }, 'f');
  logger.info({ config: { tools: { mcpServers: { web: server } } }, env: { KEY: 'S3CRET' } }, 'g');
  logger.warn({ toolServers: { web: server }, cookie: 'S3CRET', password: 'S3CRET' }, 'h');
  const text = lines.join('');
  expect(lines).toHaveLength(8);
  expect(text).not.toContain('S3CRET');
  for (const kept of ['text/plain', '"path":"/v1"', '"via":"x"', 'it broke', 'http://tool'])
    expect(text).toContain(kept);
});
