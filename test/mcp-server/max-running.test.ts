import { expect, it } from 'vitest';
import { configFileSchema, type Callers } from '../../contracts/config-file.ts';
import { maxRunningOf } from '../../mcp-server/runs/max-running.ts';

const callers = (value: object): Callers =>
  configFileSchema.parse({ pool: [{ id: 'a', url: 'http://127.0.0.1:1' }], callers: value }).callers;

it.each([
  ['its own limit', { ann: { maxRunning: 3 }, '*': { maxRunning: 2 } }, 3],
  ['that of everyone', { bob: { maxRunning: 3 }, '*': { maxRunning: 2 } }, 2],
  ['the setting, when an entry of its own has none', { ann: {}, '*': { maxRunning: 2 } }, 100],
  ['the setting, when nothing else is said', {}, 100],
])('a caller may have as many runs at work as says %s', (_what, value, most) => {
  expect(maxRunningOf(callers(value), 'ann', 100)).toBe(most);
});

it('a caller named like what objects have is no entry', () => {
  expect(maxRunningOf(callers({}), 'constructor', 100)).toBe(100);
});
