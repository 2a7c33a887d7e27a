/** Access with tokens that a test names, without a file. */
import { createHash } from 'node:crypto';
import type { Access } from '../../auth/access.ts';
import { grantFor, TokenTable } from '../../auth/token-match.ts';
import type { NamedToken } from '../../auth/tokens-file.ts';

export const serviceToken = 'service-token-of-the-test';

export function namedToken(name: string, more: Partial<NamedToken> = {}): NamedToken {
  return { name, sha256: sha256(tokenOf(name)), admin: false, ...more };
}

/** The token that belongs to a name. */
export function tokenOf(name: string): string {
  return `token-of-${name}-0123456789`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

export function testAccess(named: readonly NamedToken[] = [], service = serviceToken): Access {
  const table = new TokenTable(service, named);
  return {
    authenticate: (headers, apiKeyToo = false) => grantFor(table, headers, apiKeyToo),
    serviceToken: service,
    reload: async () => {},
    close: () => {},
  };
}
