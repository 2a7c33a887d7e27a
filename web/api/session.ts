/** The token of whoever looks at the page. It is kept in this tab only, and goes with it. */
import { signal } from '@preact/signals';

const key = 'fermata-token';

function readStored(): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    // A browser may allow no storage: then the token lasts as long as the page.
    return null;
  }
}

export const token = signal<string | null>(readStored());
/** The server has refused the token, or asks for one; null: it has not. */
export const refusal = signal<string | null>(null);

/** @param value null: forgets it. */
export function setToken(value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // As above.
  }
  refusal.value = null;
  token.value = value;
}

export function authorization(): Record<string, string> {
  return token.value === null ? {} : { authorization: `Bearer ${token.value}` };
}
