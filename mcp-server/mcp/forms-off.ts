/**
 * Whether forms are switched off for a client that declares them. Claude Code and Codex declare forms also where
 * nobody looks at them (`claude -p`, `codex exec`), and answer each one at once with a no: a person has to be able to
 * say so, since the protocol cannot.
 */
import { mcpHeaders } from '../../contracts/headers.ts';

export interface FormsSetting {
  /** Of the whole server. Default `on`. */
  readonly forms?: 'on' | 'off' | undefined;
}

/** @param request the one that carries the call; undefined over stdio. */
export function showsNoForms({ forms = 'on' }: FormsSetting, request: Request | undefined): boolean {
  return forms === 'off' || request?.headers.get(mcpHeaders.forms)?.trim().toLowerCase() === 'off';
}
