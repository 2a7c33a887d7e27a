/**
 * Keeps secrets that get into a log line by accident out of the log: handed to pino as `serializers`. They
 * cost a line that has none of these fields nothing; pino's `redact` with wildcards costs every line a
 * fifth of a millisecond. A text that holds a secret is beyond their reach.
 */
import { stdSerializers } from 'pino';

/** In lower case. `env` is that of a tool server's process: whatever it is told by it is its own. */
const secretNames: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'apikey',
  'token',
  'access_token',
  'refresh_token',
  'client_secret',
  'secret',
  'password',
  'cookie',
  'set-cookie',
  'env',
  'environment',
]);
/** Below it are tool servers, and each header that one is sent may be its key. */
const toolServersName = 'mcpservers';
const hidden = '[hidden]';
/** What is nested deeper is left out. */
const maxDepth = 5;

/** A copy in which no field with the name of a secret has its value, in objects and in flat header lists. */
export function withoutSecrets(value: unknown, depth = 0, ofToolServer = false): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > maxDepth) return '[deeper]';
  if (Array.isArray(value)) {
    const items = value as readonly unknown[];
    return items.map((item, index) =>
      isSecretName(items[index - 1]) ? hidden : withoutSecrets(item, depth + 1, ofToolServer),
    );
  }
  const pairs = value instanceof Headers || value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(
    pairs.map(([name, inner]) => {
      const isSecret = isSecretName(name) || (ofToolServer && name === 'headers');
      return [
        name,
        isSecret ? hidden : withoutSecrets(inner, depth + 1, ofToolServer || isToolServers(name)),
      ];
    }),
  );
}

function isToolServers(name: unknown): boolean {
  return typeof name === 'string' && name.toLowerCase() === toolServersName;
}

function isSecretName(name: unknown): boolean {
  return typeof name === 'string' && secretNames.has(name.toLowerCase());
}

const hide = (): string => hidden;
const scrub = (value: unknown): unknown => withoutSecrets(value);

const scrubToolServers = (value: unknown): unknown => withoutSecrets(value, 0, true);

export const logSerializers = {
  authorization: hide,
  'x-api-key': hide,
  apiKey: hide,
  token: hide,
  password: hide,
  secret: hide,
  cookie: hide,
  env: hide,
  environment: hide,
  config: scrub,
  settings: scrub,
  tools: scrub,
  mcpServers: scrubToolServers,
  toolServers: scrubToolServers,
  headers: scrub,
  req: scrub,
  request: scrub,
  res: scrub,
  response: scrub,
  err: (error: Error): unknown => withoutSecrets(stdSerializers.err(error)),
};
