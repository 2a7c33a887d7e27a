/** Short words about what has just been done, shown for a while and read out by screen readers. */
import { signal } from '@preact/signals';

export interface Notice {
  readonly id: number;
  readonly kind: 'good' | 'bad';
  readonly words: string;
}

const lastsMs = 8_000;
const most = 4;

export const notices = signal<readonly Notice[]>([]);
let made = 0;

export function tell(kind: Notice['kind'], words: string): void {
  made += 1;
  const id = made;
  notices.value = [...notices.value, { id, kind, words }].slice(-most);
  setTimeout(() => dismiss(id), lastsMs);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}
