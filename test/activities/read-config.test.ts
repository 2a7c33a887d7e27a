import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readToolServers } from '../../activities/read-config.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fermata-config-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string): string {
  const path = join(folder, 'fermata.yaml');
  writeFileSync(path, text);
  return path;
}

describe('the tool servers of the configuration file', () => {
  it('come with their defaults', () => {
    const path = fileOf(
      'pool: [{id: a, url: "http://127.0.0.1:1"}]\ntools:\n  mcpServers:\n    files: {command: npx, args: [files]}\n    wiki: {url: "http://127.0.0.1:2/mcp", idleTimeoutMs: 5}\n',
    );
    expect(readToolServers(path)).toEqual({
      files: { command: 'npx', args: ['files'], env: {}, idleTimeoutMs: 60_000, totalTimeoutMs: 600_000 },
      wiki: { url: 'http://127.0.0.1:2/mcp', headers: {}, idleTimeoutMs: 5, totalTimeoutMs: 600_000 },
    });
  });

  it.each([
    ['that is no YAML', 'pool: [', 'cannot be read'],
    ['with a fault', 'pool: [{id: a, url: ftp}]', 'pool[0].url'],
  ])('%s are refused with one line that says where', (_name, text, words) => {
    expect(() => readToolServers(fileOf(text))).toThrow(words);
  });

  it('are refused when the file is not there', () => {
    expect(() => readToolServers(join(folder, 'none.yaml'))).toThrow('none.yaml: cannot be read');
  });
});
