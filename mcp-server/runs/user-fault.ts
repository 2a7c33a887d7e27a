/**
 * A fault that the user of a tool can see and mend: its message says what is wrong and what to do. Over
 * MCP it becomes a tool error (never a protocol error), over `/api` a JSON error with its `kind`.
 */

/** `busy`: something that is needed does not answer now; the same call may work later. */
export type FaultKind = 'not-found' | 'invalid' | 'conflict' | 'busy';

export class UserFault extends Error {
  override readonly name = 'UserFault';
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
