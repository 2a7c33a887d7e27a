/**
 * The file of named tokens (`FERMATA_TOKENS_FILE`): its form, its reader, its faults. YAML, and so JSON
 * too. It holds digests, never tokens; no value of an entry is ever part of a fault all the same.
 */
import { readFile, stat } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { describeFaults } from '../contracts/config-file.ts';
import { anonymousCaller } from '../contracts/ids.ts';
import { serviceClassSchema } from '../contracts/service-class.ts';

/** Each request is compared with every entry, some 0.1 µs each. */
const maxTokens = 1_000;
const maxFileBytes = 1024 * 1024;
const othersMayRead = 0o004;

export const namedTokenSchema = z.strictObject({
  /** The caller of whoever sends the token. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be 1 to 64 letters, digits, "_", "." or "-"')
    .refine((name) => name !== anonymousCaller, `must not be ${anonymousCaller}: that is who sends no name`),
  /** Of the token's bytes. */
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be the 64 hex digits of the SHA-256 of the token')
    .transform((digest) => digest.toLowerCase()),
  /** The best class its requests may have; absent: any. */
  class: serviceClassSchema.optional(),
  /** May see and end everything. */
  admin: z.boolean().default(false),
});
export type NamedToken = z.infer<typeof namedTokenSchema>;

const tokensSchema = z
  .array(namedTokenSchema)
  .max(maxTokens, `must have at most ${maxTokens} entries`)
  .superRefine((tokens, context) => {
    for (const field of ['name', 'sha256'] as const) {
      const firstAt = new Map<string, number>();
      for (const [index, token] of tokens.entries()) {
        const first = firstAt.get(token[field]);
        if (first === undefined) firstAt.set(token[field], index);
        else
          context.addIssue({
            code: 'custom',
            path: [index, field],
            message: `is the same as that of [${first}]`,
          });
      }
    }
  });

/** A file of tokens that cannot be used; one readable line a fault. */
export class TokensFault extends Error {
  override readonly name = 'TokensFault';

  constructor(path: string, faults: readonly string[]) {
    super(faults.map((fault) => `${path}: ${fault}`).join('\n'));
  }
}

/**
 * @param path only names the file in faults.
 * @throws TokensFault
 */
export function parseTokens(path: string, text: string): readonly NamedToken[] {
  const parsed = tokensSchema.safeParse(parseYaml(path, text) ?? []);
  if (!parsed.success) throw new TokensFault(path, describeFaults(parsed.error));
  return parsed.data;
}

/** The parser's own words may quote the line, and with it a token put there by mistake: they are not passed on. */
function parseYaml(path: string, text: string): unknown {
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const line = text.slice(0, error.pos[0]).split('\n').length;
    throw new TokensFault(path, [`line ${line}: is neither YAML nor JSON (${error.code})`]);
  }
  try {
    return document.toJS();
  } catch {
    throw new TokensFault(path, ['repeats parts of itself too often']);
  }
}

export interface ReadTokens {
  readonly tokens: readonly NamedToken[];
  /** What should be mended but does not keep the file from being used. */
  readonly warnings: readonly string[];
}

/** @throws TokensFault when the file cannot be read or used. */
export async function readTokens(path: string): Promise<ReadTokens> {
  let text: string;
  let mode: number;
  try {
    const facts = await stat(path);
    if (facts.size > maxFileBytes) throw new TokensFault(path, [`is larger than ${maxFileBytes} bytes`]);
    mode = facts.mode;
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof TokensFault) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new TokensFault(path, [code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`]);
  }
  const open = (mode & othersMayRead) !== 0;
  return {
    tokens: parseTokens(path, text),
    warnings: open ? [`${path}: everyone on this machine may read it; chmod 600 it`] : [],
  };
}
