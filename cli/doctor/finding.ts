/** What a check of `fermata doctor` has found. */

export interface Finding {
  /** What was looked at: `port 8080`, `engine sglang-a`. */
  readonly subject: string;
  /** `note`: nothing is wrong, but this may explain something. */
  readonly level: 'ok' | 'note' | 'warning' | 'fault';
  readonly says: string;
  /** What to do about it; null: nothing. */
  readonly remedy: string | null;
}

export function ok(subject: string, says: string): Finding {
  return { subject, level: 'ok', says, remedy: null };
}

export function note(subject: string, says: string, remedy: string | null = null): Finding {
  return { subject, level: 'note', says, remedy };
}

export function warning(subject: string, says: string, remedy: string): Finding {
  return { subject, level: 'warning', says, remedy };
}

export function fault(subject: string, says: string, remedy: string): Finding {
  return { subject, level: 'fault', says, remedy };
}
