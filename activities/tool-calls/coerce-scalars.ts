/** Brings one scalar to one of the types that are wanted, or says why that cannot be. Pure. */
import type { TypeName } from './json-schema.ts';
import { endsInside, ExactNumber, parseValue } from './parse-arguments.ts';

export type CoercedScalar =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  /** The text was JSON of an array or object, which is to be looked at in its turn. */
  | { readonly kind: 'structure'; readonly value: unknown }
  | { readonly kind: 'problem'; readonly text: string };

export function coerceText(text: string, types: ReadonlySet<TypeName>): CoercedScalar {
  if (types.has('string')) return { kind: 'value', value: text };
  const trimmed = text.trim();
  if (types.has('array') || types.has('object')) {
    const structure = structuredText(trimmed, types);
    if (structure !== null) return structure;
  }
  if (types.has('null') && (trimmed === 'null' || trimmed === '')) return { kind: 'value', value: null };
  if (trimmed === '') return problem('empty text');
  if (types.has('integer') || types.has('number')) {
    const number = numberOf(trimmed);
    if (number !== null) return coerceNumber(number, types);
  }
  if (types.has('boolean')) {
    if (/^true$/i.test(trimmed)) return { kind: 'value', value: true };
    if (/^false$/i.test(trimmed)) return { kind: 'value', value: false };
  }
  return problem(misfit('text', types));
}

export function coerceNumber(value: number | ExactNumber, types: ReadonlySet<TypeName>): CoercedScalar {
  const number = value instanceof ExactNumber ? Number(value.text) : value;
  if (types.has('integer') || types.has('number')) {
    if (!Number.isFinite(number)) return problem('not finite');
    if (!Number.isInteger(number)) {
      return types.has('number') ? { kind: 'value', value: number } : problem('not an integer');
    }
    const exact = !(value instanceof ExactNumber) || isExact(value.text, number);
    return exact ? { kind: 'value', value: number } : problem('beyond exact range');
  }
  if (types.has('string'))
    return { kind: 'value', value: value instanceof ExactNumber ? value.text : String(value) };
  return problem(misfit('number', types));
}

/** What is wrong with a value of the kind `given`. */
export function misfit(given: 'text' | 'number' | 'boolean' | 'null', types: ReadonlySet<TypeName>): string {
  const single = [...types].filter((type) => type !== 'null');
  if (
    given !== 'null' &&
    single.every((type) => type === 'integer' || type === 'number' || type === 'boolean')
  ) {
    if (types.has('integer')) return 'not an integer';
    if (types.has('number')) return 'not a number';
    if (types.has('boolean')) return 'not a boolean';
  }
  return `${given} where ${wanted(types)} is wanted`;
}

export function wanted(types: ReadonlySet<TypeName>): string {
  const names = [...types].filter((type) => type !== 'null');
  return names.map((name) => wantedNames[name]).join(' or ') || 'null';
}

const wantedNames: Readonly<Record<TypeName, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

/** An array or object written as JSON text; null when the text is neither. */
function structuredText(text: string, types: ReadonlySet<TypeName>): CoercedScalar | null {
  const written = text.startsWith('[') ? 'array' : text.startsWith('{') ? 'object' : null;
  if (written === null) return null;
  if (!types.has(written)) {
    return problem(`${written} text where an ${written === 'array' ? 'object' : 'array'} is wanted`);
  }
  const value = endsInside(text) ? undefined : parseValue(text);
  if (typeof value !== 'object' || value === null) return problem(`text is not a complete JSON ${written}`);
  return { kind: 'structure', value };
}

/** The number that a text spells; infinities and NaN are numbers too, to be refused as such. */
function numberOf(text: string): number | ExactNumber | null {
  if (/^[+-]?(?:inf(?:inity)?|nan)$/i.test(text)) return Number.NaN;
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return null;
  return new ExactNumber(text);
}

/** Whether a double, which is an integer, goes on with the value or the digits that the text spells. */
function isExact(text: string, number: number): boolean {
  if (Number.isSafeInteger(number)) return true;
  const spelled = integerOf(text);
  return spelled !== null && (spelled === BigInt(number) || spelled === integerOf(String(number)));
}

/** The integer that a number literal spells; null when it spells none, or one beyond any double. */
function integerOf(text: string): bigint | null {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return null;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const zeros = Number(exponent) - fraction.length;
  if (Math.abs(zeros) > 400) return null;
  const digits = BigInt(whole + fraction);
  const scale = 10n ** BigInt(Math.abs(zeros));
  if (zeros < 0 && digits % scale !== 0n) return null;
  const size = zeros < 0 ? digits / scale : digits * scale;
  return sign === '-' ? -size : size;
}

function problem(text: string): CoercedScalar {
  return { kind: 'problem', text };
}
