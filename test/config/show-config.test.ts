import { expect, it } from 'vitest';
import { showConfig } from '../../config/show-config.ts';
import { configFileSchema } from '../../contracts/config-file.ts';
import { shownConfigSchema } from '../../contracts/config-status.ts';

it('shows what is in force without anything that may hold a key', () => {
  const shown = showConfig(
    configFileSchema.parse({
      pool: [
        {
          id: 'a',
          url: 'https://user:SECRET1@pool.example/v9?key=SECRET2',
          apiKeyEnv: 'POOL_KEY',
          loadFrom: ['http://x:SECRET3@127.0.0.1:1'],
        },
      ],
      tools: {
        mcpServers: {
          files: { command: 'npx', args: ['--token', 'SECRET4'], env: { TOKEN: 'SECRET5' } },
          web: { url: 'https://web.example/mcp?key=SECRET6', headers: { authorization: 'SECRET7' } },
        },
      },
      callers: { farm: { maxRunning: 3 } },
    }),
  );
  expect(JSON.stringify(shown)).not.toContain('SECRET');
  expect(shownConfigSchema.parse(shown)).toMatchObject({
    pool: [{ url: 'https://pool.example/v9', apiKeyEnv: 'POOL_KEY', loadFrom: ['http://127.0.0.1:1'] }],
    toolServers: {
      files: { type: 'stdio', command: 'npx', args: 2, env: ['TOKEN'] },
      web: { type: 'http', url: 'https://web.example/mcp', headers: ['authorization'] },
    },
    callers: { farm: { weight: 1, maxRunning: 3 } },
  });
});
