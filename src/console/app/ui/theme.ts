/** The theme: light, dark, or automatic, which follows the operating system. */
import { effect, signal } from '@preact/signals';

const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'stackside.theme';

const isTheme = (text: string | null): text is Theme => THEMES.some((theme) => theme === text);

function stored(): Theme {
  const text = localStorage.getItem(KEY);
  return isTheme(text) ? text : 'auto';
}

export const theme = signal<Theme>(stored());

/** Switches to the next theme: auto, light, dark. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto';
}

/** Applies the theme and stores it in the browser. Called once. */
export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem(KEY, theme.value);
  });
}
