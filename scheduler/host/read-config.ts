/** Reads `fermata.yaml`. What is wrong with it comes out as one line per fault, each with its path. */
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { configFileSchema, describeFaults, type ConfigFile } from '../../contracts/config-file.ts';

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
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new ConfigFault(path, [code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`]);
  }
  return parseConfig(path, text);
}

/** The same for a text at hand; `path` only names it in faults. */
export function parseConfig(path: string, text: string): ConfigFile {
  if (Buffer.byteLength(text) > maxConfigBytes) {
    throw new ConfigFault(path, [`is larger than ${maxConfigBytes} bytes`]);
  }
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    throw new ConfigFault(
      path,
      document.errors.map((error) => {
        const line = error.linePos?.[0].line;
        const words = error.message.split('\n')[0] ?? error.message;
        return line === undefined || words.includes(' at line ') ? words : `line ${line}: ${words}`;
      }),
    );
  }
  const parsed = configFileSchema.safeParse(document.toJS() ?? {});
  if (!parsed.success) throw new ConfigFault(path, describeFaults(parsed.error));
  return parsed.data;
}
