/** The time, once a second, for as long as something shows it. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export const nowMs = signal(Date.now());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** @returns the time now, and draws its component again each second. */
export function useNow(): number {
  useEffect(() => {
    users += 1;
    timer ??= setInterval(() => {
      nowMs.value = Date.now();
    }, 1_000);
    nowMs.value = Date.now();
    return () => {
      users -= 1;
      if (users > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return nowMs.value;
}
