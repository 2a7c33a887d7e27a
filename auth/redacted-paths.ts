/** Where a log line could hold a secret by accident: handed to pino as `redact`. */
const secretNames = ['authorization', 'proxy-authorization', 'x-api-key', 'apiKey', 'token', 'cookie'];

export const redactedPaths: string[] = secretNames.flatMap((name) => {
  const key = `["${name}"]`;
  return [key, `*${key}`, `headers${key}`, `*.headers${key}`, `req.headers${key}`];
});
