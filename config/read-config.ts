/**
 * Reads `fermata.yaml`. What is wrong with it comes out as one line per fault, with its path in the
 * configuration and, where it is known, line and column. Keeps nothing; see live-config.ts.
 */
import { readFile, stat } from 'node:fs/promises';
import { LineCounter, parseDocument, type Document, type YAMLParseError } from 'yaml';
import { configFileSchema, describeIssues, type ConfigFile } from '../contracts/config-file.ts';
import { offsetOf } from './yaml-position.ts';

const maxConfigBytes = 4 * 1024 * 1024;

/** A configuration that cannot be used; `faults` has one readable line for each thing that is wrong. */
export class ConfigFault extends Error {
  override readonly name = 'ConfigFault';
  readonly faults: readonly string[];

  constructor(path: string, faults: readonly string[]) {
    super(faults.map((fault) => `${path}: ${fault}`).join('\n'));
    this.faults = faults;
  }
}

/** @throws ConfigFault when the file cannot be read, is not YAML, or does not fit the schema. */
export async function readConfig(path: string): Promise<ConfigFile> {
  return parseConfig(path, await readConfigText(path));
}

/** @throws ConfigFault when there is no such file, or it cannot be read or is too large. */
export async function readConfigText(path: string): Promise<string> {
  try {
    const facts = await stat(path);
    if (facts.size > maxConfigBytes) throw tooLarge(path);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof ConfigFault) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new ConfigFault(path, [code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`]);
  }
}

/**
 * The same for a text at hand; `path` only names it in faults.
 * @throws ConfigFault
 */
export function parseConfig(path: string, text: string): ConfigFile {
  if (Buffer.byteLength(text) > maxConfigBytes) throw tooLarge(path);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new ConfigFault(
      path,
      document.errors.map((error) => `${placeOf(lines, error.pos[0])}${yamlWords(error)}`),
    );
  }
  const parsed = configFileSchema.safeParse(valueOf(path, document) ?? {});
  if (parsed.success) return parsed.data;
  throw new ConfigFault(
    path,
    describeIssues(parsed.error.issues).map(({ path: at, line }) => {
      const offset = offsetOf(document, at);
      return `${offset === null ? '' : placeOf(lines, offset)}${line}`;
    }),
  );
}

function valueOf(path: string, document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    throw new ConfigFault(path, ['repeats parts of itself too often (YAML aliases)']);
  }
}

function placeOf(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return line === 0 ? '' : `line ${line}, column ${col}: `;
}

/** Its words on a token that it did not expect quote it, and that may be a key. */
function yamlWords({ code, message }: YAMLParseError): string {
  const words = message.split('\n')[0] ?? message;
  return code === 'UNEXPECTED_TOKEN' ? (words.split(': ')[0] ?? words) : words;
}

function tooLarge(path: string): ConfigFault {
  return new ConfigFault(path, [`is larger than ${maxConfigBytes} bytes`]);
}
