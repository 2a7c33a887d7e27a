/**
 * The value of a limit, read from the source where it stands: a constant or a field, written as a product of
 * numbers or as a duration in words. So a table of limits cannot say what the code does not.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..', '..');

/**
 * @param name of the constant or field. @param after text behind which it is looked for; absent: the whole file.
 * @returns as a reader of documentation writes it, in the unit that the name ends in.
 * @throws Error when there is no such value, or none that can be read.
 */
export function limitText(file: string, name: string, after = ''): string {
  const text = readFileSync(resolve(root, file), 'utf8');
  const from = text.indexOf(after);
  if (from === -1) throw new Error(`${file} has no '${after}'`);
  const place = new RegExp(String.raw`(?:const |[{\s])${name}(?: =|:) ([^;,}\n]+)`);
  const expression = place.exec(text.slice(from))?.[1]?.trim();
  if (expression === undefined) throw new Error(`${file} has no value '${name}'`);
  const words = /^'([^']+)'$/.exec(expression)?.[1];
  if (words !== undefined) return words.replace(/^(\d+) seconds?$/, '$1 s').replace('milliseconds', 'ms');
  const factors = expression.split('*').map((factor) => Number(factor.trim().replaceAll('_', '')));
  const value = factors.reduce((product, factor) => product * factor, 1);
  if (!Number.isFinite(value)) throw new Error(`${name} in ${file} is '${expression}', not a number`);
  return unitText(name, value);
}

function unitText(name: string, value: number): string {
  if (name.endsWith('Seconds')) return durationText(value * 1_000);
  if (name.endsWith('Ms')) return durationText(value);
  if (/Bytes$/i.test(name)) return bytesText(value);
  if (name.endsWith('Probes')) return `${value} probes`;
  return value.toLocaleString('en-US');
}

function durationText(ms: number): string {
  if (ms % 60_000 === 0 && ms > 0) return `${(ms / 60_000).toLocaleString('en-US')} min`;
  if (ms % 100 === 0 && ms >= 1_000) return `${(ms / 1_000).toLocaleString('en-US')} s`;
  return `${ms} ms`;
}

function bytesText(bytes: number): string {
  const mebi = 1024 * 1024;
  if (bytes % mebi === 0) return `${bytes / mebi} MiB`;
  if (bytes % 1024 === 0) return `${bytes / 1024} KiB`;
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes >= 1_000_000 ? `${bytes / 1_000_000} MB` : `${(bytes / 1_000).toLocaleString('en-US')} KB`;
}
