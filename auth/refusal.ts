/**
 * How a door says no. Pure. The body has OpenAI's shape; a door whose clients expect another one takes
 * only the words.
 */
import { errorCodes } from '../contracts/error-codes.ts';

export type RefusalCode = 'unauthorized' | 'forbidden' | 'cross_site';

export const refusalWords: Readonly<Record<RefusalCode, string>> = {
  unauthorized: 'no token that is known here; send one as Authorization: Bearer TOKEN',
  forbidden: 'this token may not do that; use one that is marked admin',
  cross_site:
    'a web page of another site asks, and no token says that it may; set FERMATA_TOKEN and send it, or ask from a program',
};

/** What every 401 says beside its body (RFC 6750, 3). */
export const challenge = { 'www-authenticate': 'Bearer' } as const;

export interface RefusalReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function refusalReply(code: RefusalCode): RefusalReply {
  const { status, type } = errorCodes[code];
  return {
    status,
    headers: { 'content-type': 'application/json', ...(code === 'unauthorized' ? challenge : {}) },
    body: JSON.stringify({ error: { message: refusalWords[code], type, code } }),
  };
}
