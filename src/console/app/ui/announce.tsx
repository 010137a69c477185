/** What is said to people who don't see the page: a region that screen readers watch. */
import { signal } from '@preact/signals';

const said = signal('');

/** Says a sentence. */
export function announce(sentence: string): void {
  said.value = sentence;
}

export const Announcements = () => (
  <div class="sr-only" role="status" aria-live="polite">
    {said.value}
  </div>
);
