import { createHash } from 'node:crypto';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createAccess,
  openAccess,
  requireServiceToken,
  withServiceToken,
  type Access,
} from '../../auth/access.ts';
import { TokensFault } from '../../auth/tokens-file.ts';
import { SettingsFault } from '../../contracts/settings.ts';

let folder = '';
let path = '';
let lines: Record<string, unknown>[] = [];
let access: Access = openAccess;
const logger = pino(
  {},
  { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-tokens-'));
  path = join(folder, 'tokens.yaml');
  lines = [];
});
afterEach(async () => {
  access.close();
  await rm(folder, { recursive: true });
});

const entry = (name: string, token: string): string =>
  `- {name: ${name}, sha256: ${createHash('sha256').update(token).digest('hex')}}\n`;
const write = async (text: string): Promise<void> => {
  await writeFile(path, text, { mode: 0o600 });
  await chmod(path, 0o600);
};
const nameOf = (token: string): string | null | undefined => {
  const grant = access.authenticate({ authorization: `Bearer ${token}` });
  return grant.kind === 'granted' ? grant.name : undefined;
};

describe('access', () => {
  it('without tokens lets everyone in and says so once', async () => {
    access = await createAccess({ token: null, tokensFile: null }, { logger });
    expect(access.authenticate({})).toEqual({ kind: 'open' });
    expect(access.serviceToken).toBeNull();
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [40, 'neither FERMATA_TOKEN nor FERMATA_TOKENS_FILE is set: everyone is let in'],
    ]);
  });

  it('with one token lets in only whoever sends it, and warns of nothing', async () => {
    access = await createAccess({ token: 'one-token-for-all', tokensFile: null }, { logger });
    expect(nameOf('one-token-for-all')).toBeNull();
    expect(nameOf('another')).toBeUndefined();
    expect(access.authenticate({}).kind).toBe('denied');
    expect(access.serviceToken).toBe('one-token-for-all');
    expect(lines).toEqual([]);
  });

  it('follows its file: on a change, when it is replaced, and when told to', async () => {
    await write(entry('ann', 'token-a'));
    access = await createAccess({ token: 'service-token-1', tokensFile: path }, { logger, everyMs: 20 });
    expect([nameOf('token-a'), nameOf('token-b'), nameOf('service-token-1')]).toEqual([
      'ann',
      undefined,
      null,
    ]);
    await write(entry('ann', 'token-a') + entry('bob', 'token-b'));
    await vi.waitFor(() => expect(nameOf('token-b')).toBe('bob'), { timeout: 30_000 });
    const other = join(folder, 'new.yaml');
    await writeFile(other, entry('bob', 'token-b2'), { mode: 0o600 });
    await rename(other, path);
    await vi.waitFor(() => expect(nameOf('token-b2')).toBe('bob'), { timeout: 30_000 });
    expect([nameOf('token-a'), nameOf('token-b'), nameOf('service-token-1')]).toEqual([
      undefined,
      undefined,
      null,
    ]);
    access.close();
    await write(entry('cy', 'token-c'));
    await access.reload();
    expect(nameOf('token-c')).toBe('cy');
  });

  it('keeps the tokens it has when its file breaks or is gone, says why, and takes the mended one', async () => {
    await write(entry('ann', 'token-a'));
    access = await createAccess({ token: 'service-token-1', tokensFile: path }, { logger, everyMs: 20 });
    await write('- {name: ann, sha256: oops}');
    await vi.waitFor(() => expect(lines.some(({ level }) => level === 50)).toBe(true), { timeout: 30_000 });
    expect(lines.at(-1)).toMatchObject({
      msg: 'the tokens file cannot be used; the tokens from before stay in force',
      reason: `${path}: [0].sha256: must be the 64 hex digits of the SHA-256 of the token`,
    });
    expect(nameOf('token-a')).toBe('ann');
    await rm(path);
    await access.reload();
    expect([nameOf('token-a'), lines.at(-1)?.['reason']]).toEqual(['ann', `${path}: there is no such file`]);
    await write(entry('bob', 'token-b'));
    await access.reload();
    expect([nameOf('token-a'), nameOf('token-b')]).toEqual([undefined, 'bob']);
  });

  it('does not start on a file that cannot be used', async () => {
    const settings = { token: 'service-token-1', tokensFile: path };
    await expect(createAccess(settings, { logger })).rejects.toThrow(
      new TokensFault(path, ['there is no such file']),
    );
    await write('- {}');
    await expect(createAccess(settings, { logger })).rejects.toBeInstanceOf(TokensFault);
    await write('x'.repeat(1024 * 1024 + 1));
    await expect(createAccess(settings, { logger })).rejects.toThrow('is larger than 1048576 bytes');
  });

  it('warns of a file that everyone may read', async () => {
    await write(entry('ann', 'token-a'));
    await chmod(path, 0o644);
    access = await createAccess({ token: 'service-token-1', tokensFile: path }, { logger });
    expect(lines.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([
      `${path}: everyone on this machine may read it; chmod 600 it`,
    ]);
  });
});

describe('services', () => {
  it('that are started one by one need the token with which they speak to each other', () => {
    expect(() => requireServiceToken({ token: null, tokensFile: 'f' })).toThrow(SettingsFault);
    expect(() => requireServiceToken({ token: null, tokensFile: 'f' })).toThrow('set FERMATA_TOKEN too');
    for (const settings of [
      { token: 't', tokensFile: 'f' },
      { token: 't', tokensFile: null },
      { token: null, tokensFile: null },
    ]) {
      expect(() => requireServiceToken(settings)).not.toThrow();
      expect(withServiceToken(settings)).toBe(settings);
    }
  });

  it('that are started together draw one, a new one each time', () => {
    const draw = () => withServiceToken({ token: null, tokensFile: 'f' }).token;
    expect(draw()).toMatch(/^[0-9a-f]{64}$/);
    expect(draw()).not.toBe(draw());
  });
});
