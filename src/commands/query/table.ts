/** A result as a table for people: the widths are those of the first rows. */
import type { SqlValue } from '../../store/sql/result.ts';

/** Rows that are read before the first one is shown. */
const ROWS_FOR_WIDTHS = 200;
/** Characters of a cell, after which its text is cut: a transaction id and a contract identifier fit. */
const WIDEST_CELL = 84;

type Shown = (value: SqlValue) => string | number | bigint | null;

const cut = (text: string): string => (text.length <= WIDEST_CELL ? text : `${text.slice(0, WIDEST_CELL - 1)}…`);

interface Cell {
  text: string;
  isNumber: boolean;
}

function cellOf(value: SqlValue, shown: Shown): Cell {
  const plain = shown(value);
  const isNumber = typeof plain === 'number' || typeof plain === 'bigint';
  return { text: cut(String(plain ?? '').replaceAll(/[\t\r\n]/g, ' ')), isNumber };
}

const padded = ({ text, isNumber }: Cell, width: number): string =>
  isNumber ? text.padStart(width) : text.padEnd(width);

const lineOf = (cells: readonly Cell[], widths: readonly number[]): string =>
  `${cells
    .map((cell, i) => padded(cell, widths[i] ?? 0))
    .join('  ')
    .trimEnd()}\n`;

/** @param shown a value without bytes */
export function* tableText(names: readonly string[], rows: Iterable<SqlValue[]>, shown: Shown): Generator<string> {
  const head = names.map((name): Cell => ({ text: name, isNumber: false }));
  const first: Cell[][] = [];
  let widths: number[] = [];

  function* begun(): Generator<string> {
    widths = head.map(({ text }, i) => Math.max(text.length, ...first.map((cells) => cells[i]?.text.length ?? 0)));
    yield lineOf(head, widths);
    yield lineOf(
      widths.map((width): Cell => ({ text: '-'.repeat(width), isNumber: false })),
      widths,
    );
    for (const cells of first) yield lineOf(cells, widths);
  }

  for (const row of rows) {
    const cells = row.map((value) => cellOf(value, shown));
    if (widths.length > 0) {
      yield lineOf(cells, widths);
      continue;
    }
    first.push(cells);
    if (first.length === ROWS_FOR_WIDTHS) yield* begun();
  }
  if (widths.length === 0) yield* begun();
}
