/**
 * The names that the model sees for the tools of all servers: `server__tool`, made to fit what engines
 * accept, unique, and the same on every worker whatever order the servers answered in. Pure. Names map
 * back through the listing, never by taking them apart.
 */
import { createHash } from 'node:crypto';

/** What every engine accepts as a function name. */
export const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/;
const longestName = 64;

export interface ToolOrigin {
  readonly server: string;
  readonly serverTool: string;
}

/**
 * One name for each origin, in the order given. A name that had to be changed, or that two origins could
 * share, ends in a hash of its origin: nothing is cut or numbered into a twin.
 */
export function nameTools(origins: readonly ToolOrigin[]): string[] {
  const plain = new Set(origins.map(plainName).filter((name) => name !== null));
  return origins.map((origin) => {
    const name = plainName(origin);
    if (name !== null) return name;
    for (let hashLength = 8; ; hashLength += 8) {
      const candidate = hashedName(origin, hashLength);
      if (!plain.has(candidate) || hashLength >= 40) return candidate;
    }
  });
}

/** `server__tool` where that is valid and can be read in one way only. */
function plainName({ server, serverTool }: ToolOrigin): string | null {
  const name = `${server}__${serverTool}`;
  const separators = name.match(/_(?=_)/g)?.length ?? 0;
  return separators === 1 && server !== '' && serverTool !== '' && toolNamePattern.test(name) ? name : null;
}

function hashedName({ server, serverTool }: ToolOrigin, hashLength: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([server, serverTool]))
    .digest('hex')
    .slice(0, hashLength);
  const readable = `${fitting(server)}__${fitting(serverTool)}`.slice(0, longestName - 1 - hash.length);
  return `${readable}_${hash}`;
}

function fitting(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_');
}
