/** The time of day as a signal, for texts such as `3 min ago`. */
import { signal } from '@preact/signals';

const seconds = () => Math.floor(Date.now() / 1000);

/** Unix seconds, updated each second while the page is visible. */
export const now = signal(seconds());

/** Begins to update {@link now}. Called once. */
export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = seconds();
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    now.value = seconds();
  });
}
