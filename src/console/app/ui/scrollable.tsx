/** A part of the page that scrolls by itself, and so must take the focus: without it, no key would scroll it. */
import type { ComponentChildren } from 'preact';

interface ScrollableProps {
  label: string;
  class: string;
  children: ComponentChildren;
}

export const Scrollable = ({ label, class: kind, children }: ScrollableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
  <section class={kind} aria-label={label} tabIndex={0} dir="ltr">
    {children}
  </section>
);
