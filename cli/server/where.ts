/** Which fermata a command asks, and as whom: options first, then the environment, then what `npm start` has. */
import { parseSettings } from '../../contracts/settings.ts';
import { CommandFault, exitCodes } from '../exit-codes.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Where {
  /** Root of the mcp-server, without a slash at its end. */
  readonly url: string;
  /** null: none is sent. */
  readonly token: string | null;
  /** Who to be where the token names nobody; null: the server's own name for this. */
  readonly caller: string | null;
}

export interface WhereOptions {
  readonly url?: string | undefined;
  readonly caller?: string | undefined;
}

/** @throws CommandFault for an address that is none; SettingsFault for a setting that cannot be. */
export function readWhere(options: WhereOptions, environment: Environment): Where {
  const { host, ports, token, mcpUrl } = parseSettings(environment);
  const url = options.url ?? mcpUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${ports.mcp}`;
  if (!/^https?:\/\/[^/]+/.test(url)) {
    throw new CommandFault(
      `--url: got '${url}', expected an address such as http://127.0.0.1:7000`,
      exitCodes.usage,
    );
  }
  // People copy the address of the MCP door as well as that of the page.
  return { url: url.replace(/\/+$/, '').replace(/\/(mcp|api)$/, ''), token, caller: options.caller ?? null };
}
