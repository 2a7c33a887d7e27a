/** Asks `/api`. Every failure is an `ApiError` with words that say what to do. */
import { authorization, refusal, token } from './session.ts';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0: the server does not answer. */
  readonly status: number;
  readonly code: string;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, body: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

const limitMs = 30_000;

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that the answer may take. */
  readonly limitMs?: number;
}

export async function get<T>(path: string, options: AskOptions = {}): Promise<T> {
  return await ask<T>(path, {}, options);
}

export async function post<T>(path: string, body: unknown, options: AskOptions = {}): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return await ask<T>(path, { method: 'POST', headers, body: JSON.stringify(body) }, options);
}

/** @param path below `/api/`. */
export function apiUrl(path: string): string {
  return new URL(`api/${path}`, document.baseURI.split('#')[0]).href;
}

async function ask<T>(path: string, init: RequestInit, options: AskOptions): Promise<T> {
  const limit = AbortSignal.timeout(options.limitMs ?? limitMs);
  const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]);
  const headers = { ...(init.headers as Record<string, string> | undefined), ...authorization() };
  let response: Response;
  let text: string;
  try {
    response = await fetch(apiUrl(path), { ...init, headers, signal, cache: 'no-store' });
    text = await response.text();
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    throw new ApiError(0, 'unreachable', 'the server does not answer; try again in a moment');
  }
  const body = parse(text);
  if (response.ok) return body as T;
  throw refused(response.status, body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}

/** The error of an answer that is none; a missing or unknown token also asks for another one. */
export function refused(status: number, body: unknown): ApiError {
  const told = body as { readonly error?: { readonly message?: string; readonly code?: string } };
  const words = told.error?.message ?? `the server answered HTTP ${status}`;
  if (status === 401) {
    refusal.value =
      token.value === null ? 'This server asks for a token.' : 'The server does not know this token.';
  }
  return new ApiError(status, told.error?.code ?? '', words, body as Record<string, unknown>);
}

/** Of whatever was thrown. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
