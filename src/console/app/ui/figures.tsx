/** A row of figures, each with its name and what makes it clear. */
import type { ComponentChildren } from 'preact';

export interface Figure {
  name: string;
  value: ComponentChildren;
  note?: ComponentChildren;
}

interface FiguresProps {
  figures: readonly Figure[];
  label: string;
  /** Whether the figures are amounts, which need more room. */
  amounts?: boolean;
}

export const Figures = ({ figures, label, amounts = false }: FiguresProps) => (
  <dl class={amounts ? 'figures amounts' : 'figures'} aria-label={label}>
    {figures.map(({ name, value, note }) => (
      <div class="figure" key={name}>
        <dt>{name}</dt>
        <dd>
          {value}
          {note === undefined ? null : <div class="note-line">{note}</div>}
        </dd>
      </div>
    ))}
  </dl>
);
