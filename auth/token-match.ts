/**
 * Finds the token of a request among those that are known. Pure. The digest of what was given is compared
 * with every known one, whichever fits, so how long it takes tells nothing about any of them.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../contracts/ids.ts';
import { deniedGrant, openGrant, serviceGrant, type Grant, type Granted } from './grant.ts';
import type { NamedToken } from './tokens-file.ts';

/** Longer ones are denied unseen. */
const maxTokenLength = 4_096;
/** A SHA-256 is eight of them. */
const wordsPerDigest = 8;

export class TokenTable {
  readonly #digests: readonly Buffer[];
  readonly #grants: readonly Granted[];
  /** All digests one after the other: a call of `timingSafeEqual` for each costs several times as much. */
  readonly #words: Int32Array;
  readonly #given = new Int32Array(wordsPerDigest);

  /** @param service FERMATA_TOKEN; null: there is none. */
  constructor(service: string | null, named: readonly NamedToken[]) {
    // The service's last, so that it wins: a name given to the same token must not lock the services out.
    this.#digests = [
      ...named.map(({ sha256 }) => Buffer.from(sha256, 'hex')),
      ...(service === null ? [] : [digestOf(service)]),
    ];
    this.#grants = [...named.map(grantOf), ...(service === null ? [] : [serviceGrant])];
    this.#words = new Int32Array(this.#digests.length * wordsPerDigest);
    this.#digests.forEach((digest, index) => digest.copy(bytesOf(this.#words), index * digest.length));
  }

  /** What the holder of `token` may do. */
  find(token: string): Grant {
    if (token.length > maxTokenLength) return deniedGrant;
    const given = digestOf(token);
    given.copy(bytesOf(this.#given));
    const index = this.#lastEqual(this.#given);
    const digest = this.#digests[index];
    const grant = this.#grants[index];
    return digest !== undefined && grant !== undefined && timingSafeEqual(digest, given)
      ? grant
      : deniedGrant;
  }

  /** Looks at every word of every digest, whatever it has found. */
  #lastEqual(given: Int32Array): number {
    const words = this.#words;
    let found = -1;
    for (let start = 0; start < words.length; start += wordsPerDigest) {
      let differing = 0;
      for (let word = 0; word < wordsPerDigest; word += 1) {
        differing |= (words[start + word] ?? 0) ^ (given[word] ?? 0);
      }
      found = differing === 0 ? start / wordsPerDigest : found;
    }
    return found;
  }
}

function bytesOf(words: Int32Array): Uint8Array {
  return new Uint8Array(words.buffer);
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
