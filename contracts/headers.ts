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

/** What each header is for; `docs/reference/headers.md` is made from it. */
export const headerMeanings: Readonly<Record<keyof typeof requestHeaders, string>> = {
  runId:
    'The run that the turn belongs to: at most 128 bytes of printable ASCII, else 400. Without it the run is recognised, see below.',
  serviceClass: '`interactive` (default) or `batch`; anything else is 400. A token may cap it at `batch`.',
  caller: 'Who asks, cut at 128 bytes; without it `anonymous`. The name of a token goes before it.',
  turn: 'Number of the turn in its run; makes a retry recognisable, which then keeps its place in the queue.',
};

export const responseHeaderMeanings: Readonly<Record<keyof typeof responseHeaders, string>> = {
  runId: 'The run that the turn was taken for. Sent back as a request header, the next turn belongs to it.',
  replica: 'The replica that answered.',
  heldMs: 'Milliseconds that the turn was held before it was admitted.',
};
