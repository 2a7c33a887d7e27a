/** `npm run soak -- --quick`, whole: two of everything, each kind killed and stopped under load. */
import { expect, it, onTestFailed } from 'vitest';
import { isMet } from '../../../bench/bars.ts';
import { planOf } from '../../../bench/soak/plan.ts';
import { runSoak } from '../../../bench/soak/run-soak.ts';
import { soakBars, soakText } from '../../../bench/soak/summary.ts';

/** They tell how fast the machine is, not whether anything went wrong. */
const ofSpeed = ['soak turns of durable runs %', 'soak runs begun without tools %'];

it('loses and doubles nothing while parts are killed and stopped, and leaves nothing behind', async () => {
  const plan = planOf(true);
  const found = await runSoak(
    plan,
    process.env,
    () => {},
    () => false,
  );
  onTestFailed(() => console.log(soakText(plan, found)));
  expect(soakBars(plan, found).filter((one) => !ofSpeed.includes(one.name) && !isMet(one))).toEqual([]);
}, 300_000);
