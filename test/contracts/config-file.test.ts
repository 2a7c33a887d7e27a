import { describe, expect, it } from 'vitest';
import { configFileSchema, describeFaults, servedApis } from '../../contracts/config-file.ts';

const replica = { id: 'a', url: 'http://127.0.0.1:1' };

function faultsOf(value: unknown): string[] {
  const parsed = configFileSchema.safeParse(value);
  return parsed.success ? [] : describeFaults(parsed.error);
}

describe('the configuration file', () => {
  it('needs a pool and fills in everything else', () => {
    const config = configFileSchema.parse({ pool: [{ ...replica, url: 'http://127.0.0.1:1/' }] });
    expect(config.pool[0]).toEqual({
      id: 'a',
      url: 'http://127.0.0.1:1',
      engine: 'none',
      kind: 'generative',
      healthPath: '/health',
      images: false,
    });
    expect(config.policy.admission).toBe('residency');
    expect(config.tools.mcpServers).toEqual({});
  });

  it.each([
    [{}, 'pool: '],
    [{ pool: [] }, 'pool: must name at least one replica'],
    [{ pool: [{ ...replica, url: 'ftp://x' }] }, 'pool[0].url: must be an http:// or https:// address'],
    [{ pool: [replica, replica] }, 'pool: two replicas have the same id'],
    [{ pool: [{ ...replica, engin: 'vllm' }] }, 'pool[0]: Unrecognized key: "engin"'],
    [{ pool: [{ ...replica, engine: 'vlm' }] }, 'pool[0].engine: '],
    [{ pool: [replica], policy: { batchShare: 2 } }, 'policy.batchShare: '],
    [{ pool: [{ ...replica, images: 'yes' }] }, 'pool[0].images: '],
    [
      { pool: [{ ...replica, apiKeyEnv: 'a b' }] },
      'pool[0].apiKeyEnv: must be the name of an environment variable',
    ],
  ])('names the path of a fault: %j', (value, line) => {
    expect(faultsOf(value).some((fault) => fault.startsWith(line))).toBe(true);
  });

  it('takes tool servers in the shape that MCP clients use', () => {
    const config = configFileSchema.parse({
      pool: [replica],
      tools: {
        mcpServers: {
          local: { command: 'x', args: ['-y'] },
          remote: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
        },
      },
    });
    expect(config.tools.mcpServers['local']).toMatchObject({ command: 'x', idleTimeoutMs: 60_000 });
    expect(config.tools.mcpServers['remote']).toMatchObject({
      url: 'http://127.0.0.1:9/mcp',
      totalTimeoutMs: 600_000,
    });
  });

  it('lets the kind of a replica decide what it serves when its entry does not say', () => {
    expect(servedApis({ kind: 'one-shot' })).toEqual(['classify']);
    expect(servedApis({ kind: 'generative' })).toEqual(['chat']);
    expect(servedApis({ kind: 'generative', apis: ['responses'] })).toEqual(['responses']);
  });
});
