/**
 * Finds the token of a request among those that are known. Pure. The digest of what was given is compared
 * with every known one, whichever fits, so how long it takes tells nothing about any of them.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../contracts/ids.ts';
import { deniedGrant, openGrant, serviceGrant, type Grant, type Granted } from './grant.ts';
import type { NamedToken } from './tokens-file.ts';

interface Entry {
  readonly digest: Buffer;
  readonly grant: Granted;
}

/** Longer ones are denied unseen. */
const maxTokenLength = 4_096;

export class TokenTable {
  readonly #entries: readonly Entry[];

  /** @param service FERMATA_TOKEN; null: there is none. */
  constructor(service: string | null, named: readonly NamedToken[]) {
    this.#entries = [
      ...named.map((token) => ({ digest: Buffer.from(token.sha256, 'hex'), grant: grantOf(token) })),
      // Last, so that it wins: a name given to the same token must not lock the services out.
      ...(service === null ? [] : [{ digest: digestOf(service), grant: serviceGrant }]),
    ];
  }

  /** What the holder of `token` may do. */
  find(token: string): Grant {
    if (token.length > maxTokenLength) return deniedGrant;
    const given = digestOf(token);
    let grant: Grant = deniedGrant;
    for (const entry of this.#entries) if (timingSafeEqual(entry.digest, given)) grant = entry.grant;
    return grant;
  }
}

/**
 * What a request may do, by its headers.
 * @param table null: no token is set.
 * @param apiKeyToo whether `x-api-key` counts, by which Anthropic's clients send theirs.
 */
export function grantFor(table: TokenTable | null, headers: IncomingHttpHeaders, apiKeyToo: boolean): Grant {
  if (table === null) return openGrant;
  const bearer = bearerToken(headers.authorization);
  const grant = bearer === null ? deniedGrant : table.find(bearer);
  const apiKey = apiKeyToo ? headers['x-api-key'] : undefined;
  // Some clients send a key of their own as the one and the token as the other.
  if (grant.kind !== 'denied' || typeof apiKey !== 'string' || apiKey === '') return grant;
  return table.find(apiKey);
}

/** The token of an `Authorization: Bearer` header; the scheme has no case (RFC 9110, 11.1). */
export function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined) return null;
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null;
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function grantOf(token: NamedToken): Granted {
  return Object.freeze({
    kind: 'granted',
    name: token.name as Caller,
    classCeiling: token.class ?? null,
    admin: token.admin,
  });
}
