/**
 * A run's input as the workflow takes it: checked and with its defaults. Pure. It says the same as
 * `runInputSchema` (a test holds the two together) without zod, which the sandbox would load anew, and
 * keep in memory, for each run.
 */
import { handlePattern } from '../contracts/run-names.ts';
import type { RunInput } from '../contracts/run.ts';

export type ReadInput =
  | { readonly kind: 'ok'; readonly input: RunInput }
  /** One line a fault. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

/** Of one field: what is wrong with a value; null: nothing. */
type Check = (value: unknown) => string | null;

const isText = (minLength: number, maxLength = Infinity): Check => {
  const bounds = maxLength === Infinity ? `at least ${minLength}` : `${minLength} to ${maxLength}`;
  return (value) =>
    typeof value === 'string' && value.length >= minLength && value.length <= maxLength
      ? null
      : `must be a text of ${bounds} characters`;
};
const isCount =
  (most: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most
      ? null
      : `must be a whole number from 0 to ${most}`;
const isNullOr =
  (check: Check): Check =>
  (value) =>
    value === null ? null : check(value);
const isHandle: Check = (value) =>
  typeof value === 'string' && handlePattern.test(value)
    ? null
    : 'must be a handle such as run_ followed by 22 letters and digits';
const isBudget: Check = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  for (const [name, limit] of Object.entries(value)) {
    const most = budgetLimits.get(name);
    if (most === undefined) return `${name}: no such limit`;
    if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1 || limit > most)) {
      return `${name}: must be a whole number from 1 to ${most}`;
    }
  }
  return null;
};
const isAllowance: Check = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  const names = ['tokens', 'toolCalls'];
  const [unknown] = Object.keys(value).filter((name) => !names.includes(name));
  if (unknown !== undefined) return `${unknown}: no such allowance`;
  const allowed: Readonly<Record<string, unknown>> = { ...value };
  const wrong = names.find((name) => isNullOr(isCount(Number.MAX_SAFE_INTEGER))(allowed[name]) !== null);
  return wrong === undefined ? null : `${wrong}: must be null or a whole number from 0 on`;
};
const isToolNames: Check = (value) =>
  Array.isArray(value) && value.length <= 256 && value.every((name) => isText(1)(name) === null)
    ? null
    : 'must be a list of at most 256 tool names';

/** The most that each limit may be. */
const budgetLimits = new Map([
  ['tokens', 1_000_000_000_000],
  ['toolCalls', 10_000_000],
  ['seconds', 31_536_000],
]);

interface Field {
  readonly check: Check;
  /** Absent: the field is required, or stays absent when it is `optional`. */
  readonly fallback?: unknown;
  readonly optional?: true;
}

const fields: Readonly<Record<keyof RunInput, Field>> = {
  task: { check: isText(1) },
  model: { check: isNullOr(isText(1)), fallback: null },
  class: {
    check: (value) =>
      value === 'interactive' || value === 'batch' ? null : "must be 'interactive' or 'batch'",
    fallback: 'interactive',
  },
  system: { check: isText(0), optional: true },
  tools: { check: isNullOr(isToolNames), fallback: null },
  maxToolCalls: { check: isCount(10_000), fallback: 8 },
  maxTokens: { check: isCount(1_000_000), fallback: 256 },
  parallelToolCalls: {
    check: (value) => (typeof value === 'boolean' ? null : 'must be true or false'),
    fallback: false,
  },
  approveTools: { check: isToolNames, fallback: [] },
  budget: { check: isBudget, optional: true },
  allowance: { check: isAllowance, optional: true },
  parent: { check: isHandle, optional: true },
  root: { check: isHandle, optional: true },
  caller: { check: isText(1, 128) },
  traceparent: { check: isText(0, 128), optional: true },
};

export function readInput(given: unknown): ReadInput {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { kind: 'faults', faults: ['must be an object'] };
  }
  const values = given as Readonly<Record<string, unknown>>;
  const faults = Object.keys(values)
    .filter((name) => !Object.hasOwn(fields, name))
    .map((name) => `${name}: no such field`);
  const input: Record<string, unknown> = {};
  for (const [name, { check, fallback, optional }] of Object.entries(fields)) {
    const value = values[name];
    if (value === undefined) {
      if (fallback !== undefined) input[name] = fallback;
      else if (optional !== true) faults.push(`${name}: missing`);
      continue;
    }
    const fault = check(value);
    if (fault !== null) faults.push(`${name}: ${fault}`);
    input[name] = value;
  }
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'ok', input: input as RunInput };
}
