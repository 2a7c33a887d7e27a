/** Light or dark: as the system says, unless it is chosen here. */
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const key = 'fermata-theme';
const themes: readonly Theme[] = ['system', 'light', 'dark'];

function readStored(): Theme {
  try {
    const stored = localStorage.getItem(key);
    return themes.find((one) => one === stored) ?? 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(readStored());

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = theme.value;
}

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system';
  try {
    localStorage.setItem(key, theme.value);
  } catch {
    // Then it lasts as long as the page.
  }
  applyTheme();
}
