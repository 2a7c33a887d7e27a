/**
 * The requests that are made of a tool server, each with a progress token and two limits: one that progress
 * resets and one in all. At either the server is told to stop.
 */
import type { Client, RequestOptions } from '@modelcontextprotocol/client';
import { AbortScope } from '../../contracts/abort-scope.ts';
import { ToolServerError } from './call-failure.ts';
import { walkPages } from './list-pages.ts';
import { readTool, toolPageSchema, type ServerTool } from './read-tools.ts';
import type { ToolList } from './tool-list.ts';

export interface RequestLimits {
  /** Milliseconds without progress. */
  readonly idleTimeoutMs: number;
  /** Milliseconds in all. */
  readonly totalTimeoutMs: number;
}

/** Milliseconds for all pages of a list together. */
export const listTotalMs = 30_000;

/**
 * @param request makes it with the options it is given.
 * @throws ToolServerError at the total limit, what the signal threw, or what the request did.
 */
export async function boundedRequest<T>(
  name: string,
  limits: RequestLimits,
  signal: AbortSignal,
  request: (options: RequestOptions) => Promise<T>,
): Promise<T> {
  const total = new AbortController();
  const timer = setTimeout(() => total.abort(), limits.totalTimeoutMs);
  const scope = new AbortScope(signal, total.signal);
  try {
    return await request({
      signal: scope.signal,
      timeout: limits.idleTimeoutMs,
      resetTimeoutOnProgress: true,
      // Without a listener no progress token is sent, and the server could not show that it lives.
      onprogress: () => undefined,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!total.signal.aborted) throw error;
    throw new ToolServerError(
      'unknown',
      `${name} did not finish within ${limits.totalTimeoutMs / 1_000} s and was told to stop`,
    );
  } finally {
    clearTimeout(timer);
    scope.end();
  }
}

/** All pages of a server's list; a tool that cannot be read is left out with a warning. */
export async function fetchTools(
  client: Client,
  name: string,
  limits: RequestLimits,
  signal: AbortSignal,
): Promise<ToolList> {
  const walked = await walkPages(async (cursor) => {
    const params = cursor === undefined ? {} : { cursor };
    const page = await boundedRequest(
      name,
      limits,
      signal,
      async (options) => await client.request({ method: 'tools/list', params }, toolPageSchema, options),
    );
    return { items: page.tools, nextCursor: page.nextCursor ?? undefined };
  });
  const read = walked.items.map(readTool);
  const tools = new Map(
    read.filter((tool): tool is ServerTool => tool !== null).map((tool) => [tool.name, tool]),
  );
  const unread = read.filter((tool) => tool === null).length;
  return {
    tools: [...tools.values()],
    warnings: [
      ...(walked.stopped === null ? [] : [`${name}: ${walked.stopped}`]),
      ...(unread === 0 ? [] : [`${name}: ${unread} of its tools cannot be read and are left out`]),
    ],
    complete: walked.stopped === null && unread === 0,
  };
}
