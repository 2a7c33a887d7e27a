/** Promise: every scenario of the public conformance suite that applies to a server with tools alone passes. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { applying, excused, untestableWords } from './conformance-scenarios.ts';
import {
  conformanceSuite,
  suiteVersions,
  type ConformanceSuite,
  type SuiteName,
} from './conformance-suite.ts';
import { startStack, type Stack } from './stack.ts';

const installMs = 280_000;
const report: string[] = [];
let stack: Stack;
let suite: ConformanceSuite;
beforeAll(async () => {
  suite = await conformanceSuite(installMs);
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
}, installMs + 60_000);
afterAll(async () => {
  process.stdout.write(`${report.join('\n')}\n`);
  await stack.close();
});

describe('the public conformance suite', () => {
  it.each(applying.map((one) => [one.suite, one.scenario, one.version ?? 'its own version', one] as const))(
    '%s: %s passes at %s',
    async (name, scenario, at, { version, untestable = [] }) => {
      const checks = await suite.run(name, scenario, stack.mcpUrl, version);
      const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
      const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
      const failed = bad.filter(({ errorMessage }) => !untestableWords.test(errorMessage ?? ''));
      const left = untestable.length === 0 ? '' : `, not testable here: ${untestable.join(', ')}`;
      const result = failed.length === 0 && passed > 0 ? 'PASS' : 'FAIL';
      report.push(`${result} ${scenario} (${at}, suite ${suiteVersions[name]}): ${passed} checks${left}`);
      expect(failed).toEqual([]);
      expect([...new Set(bad.map(({ id }) => id))].toSorted()).toEqual(untestable.toSorted());
      expect(passed).toBeGreaterThan(0);
    },
  );

  it.each(['stable', 'next'] satisfies SuiteName[])(
    '%s has no scenario that is passed over',
    async (name) => {
      const scenarios = await suite.scenarios(name);
      expect(scenarios.length).toBeGreaterThan(20);
      const run = new Set(applying.filter((one) => one.suite === name).map(({ scenario }) => scenario));
      const others = scenarios.filter((scenario) => !run.has(scenario));
      const reasonOf = (scenario: string): string | undefined =>
        excused.find(([start]) => scenario.startsWith(start))?.[1];
      for (const scenario of others) {
        report.push(`N/A  ${scenario} (suite ${suiteVersions[name]}): ${reasonOf(scenario)}`);
      }
      expect(others.filter((scenario) => reasonOf(scenario) === undefined)).toEqual([]);
      expect([...run].filter((scenario) => !scenarios.includes(scenario))).toEqual([]);
    },
  );
});
