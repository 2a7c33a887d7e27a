/**
 * Names of the HTTP headers by which a client tells the proxy whose turn this is, and by which the
 * proxy answers. Lower case, as Node delivers them. Each request header has an older alias.
 */
export const requestHeaders = {
  runId: ['x-fermata-run-id', 'x-luftpause-run-id'],
  serviceClass: ['x-fermata-class', 'x-luftpause-class'],
  caller: ['x-fermata-caller', 'x-luftpause-caller'],
  turn: ['x-fermata-turn'],
} as const satisfies Record<string, readonly string[]>;

/** Session headers that known agents send by themselves; each names a run, scoped by its caller. */
export const sessionHeaders = [
  'x-claude-code-session-id',
  'session_id',
  'session-id',
  'x-session-affinity',
  'x-session-id',
] as const;

/**
 * Headers by which known agents tell their sub-agents apart from each other and from themselves: these share
 * the session, but each is a run with turns and pauses of its own.
 */
export const agentHeaders = ['x-claude-code-agent-id', 'thread-id'] as const;

/** Headers by which a client of the MCP server says what it is not able to say in the protocol. */
export const mcpHeaders = {
  /** `off`: forms are not to be shown, though the client declares that it can. */
  forms: 'x-fermata-forms',
} as const;

export const responseHeaders = {
  runId: 'x-fermata-run-id',
  replica: 'x-fermata-replica',
  heldMs: 'x-fermata-held-ms',
} as const;
