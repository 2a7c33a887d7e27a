import { expect, it } from 'vitest';
import { closeInReverse } from '../../cli/close-in-reverse.ts';

it('stops every part in reverse order, also when one fails, and tells the first failure', async () => {
  const stopped: string[] = [];
  const part = (name: string, fails: boolean) => ({
    close: async (): Promise<void> => {
      stopped.push(name);
      if (fails) await Promise.reject(new Error(`${name} does not stop`));
    },
  });
  const parts = [part('temporal', false), part('pool', true), part('services', true)];
  await expect(closeInReverse(parts)).rejects.toThrow('services does not stop');
  expect(stopped).toEqual(['services', 'pool', 'temporal']);
  await closeInReverse(parts);
  expect(stopped).toHaveLength(3);
});
