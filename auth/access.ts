/**
 * Who may come in: the tokens in force, kept up to date with their file. It reads no request but its
 * headers, and decides nothing but who asks; what that one may do is up to each door.
 */
import { randomBytes } from 'node:crypto';
import { unwatchFile, watchFile } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import { SettingsFault } from '../contracts/settings.ts';
import type { Grant } from './grant.ts';
import { grantFor, TokenTable } from './token-match.ts';
import { readTokens } from './tokens-file.ts';

export interface Access {
  /**
   * @param apiKeyToo whether `x-api-key` counts beside `Authorization`.
   */
  authenticate(headers: IncomingHttpHeaders, apiKeyToo?: boolean): Grant;
  /** What the services send to each other; null: nothing. */
  readonly serviceToken: string | null;
  /** Reads the tokens file again; one that cannot be used changes nothing and is logged. Never rejects. */
  reload(): Promise<void>;
  close(): void;
}

export interface AccessSettings {
  readonly token: string | null;
  readonly tokensFile: string | null;
}

/** How often the file is looked at. */
const lookEveryMs = 2_000;

/** Everyone may do everything. */
export const openAccess: Access = {
  authenticate: (headers) => grantFor(null, headers, false),
  serviceToken: null,
  reload: async () => {},
  close: () => {},
};

/**
 * @param everyMs from one look at the file to the next.
 * @throws TokensFault when the tokens file cannot be used.
 */
export async function createAccess(
  { token, tokensFile }: AccessSettings,
  { logger, everyMs = lookEveryMs }: { readonly logger: Logger; readonly everyMs?: number },
): Promise<Access> {
  if (tokensFile === null) {
    if (token === null) {
      logger.warn('neither FERMATA_TOKEN nor FERMATA_TOKENS_FILE is set: everyone is let in');
      return openAccess;
    }
    const table = new TokenTable(token, []);
    return { ...openAccess, authenticate: authenticator(() => table), serviceToken: token };
  }
  let table = new TokenTable(token, []);
  let reading = Promise.resolve();
  const load = async (): Promise<void> => {
    table = await loadTable(token, tokensFile, logger);
  };
  // One after the other, so that an older reading never wins over a newer one.
  const reload = async (): Promise<void> => {
    reading = reading.then(load).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      logger.error({ reason }, 'the tokens file cannot be used; the tokens from before stay in force');
    });
    await reading;
  };
  const onChange = (): void => void reload();
  // By its state, not by events: those miss a file that is replaced, as editors and Kubernetes do. Before it
  // is read, so that no change is missed in between.
  watchFile(tokensFile, { interval: everyMs, persistent: false }, onChange);
  try {
    await load();
  } catch (error) {
    unwatchFile(tokensFile, onChange);
    throw error;
  }
  return {
    authenticate: authenticator(() => table),
    serviceToken: token,
    reload,
    close: () => unwatchFile(tokensFile, onChange),
  };
}

function authenticator(table: () => TokenTable): Access['authenticate'] {
  return (headers, apiKeyToo = false) => grantFor(table(), headers, apiKeyToo);
}

async function loadTable(token: string | null, path: string, logger: Logger): Promise<TokenTable> {
  const { tokens, warnings } = await readTokens(path);
  for (const warning of warnings) logger.warn(warning);
  logger.info({ path, tokens: tokens.map(({ name }) => name) }, 'tokens read');
  return new TokenTable(token, tokens);
}

/**
 * A service that is started alone can speak to the others only with the token that they have too.
 * @throws SettingsFault
 */
export function requireServiceToken({ token, tokensFile }: AccessSettings): void {
  if (tokensFile === null || token !== null) return;
  throw new SettingsFault(
    'FERMATA_TOKENS_FILE: is set without FERMATA_TOKEN, with which the services speak to each other; set FERMATA_TOKEN too, to the same value for all of them',
  );
}

/** The settings of services that are started together: without a token of their own they get one for this start. */
export function withServiceToken(settings: AccessSettings): AccessSettings {
  if (settings.tokensFile === null || settings.token !== null) return settings;
  return { ...settings, token: randomBytes(32).toString('hex') };
}
