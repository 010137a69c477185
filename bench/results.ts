/** Results of benchmarks: figures in tables, printed as Markdown or JSON. */
import { cpus, totalmem } from 'node:os';
import { canPin, commit, say } from './harness.ts';

/** A measured figure, with one value per round. */
export interface Figure {
  values: number[];
  /** Decimal places to print. */
  digits: number;
  /** Printed after the figure, such as `%`. */
  unit?: string;
}

export type Cell = string | Figure;

export interface Table {
  head: string[];
  rows: Cell[][];
}

/** A heading with its notes and tables. */
export interface Section {
  title: string;
  /** How it was measured, in Markdown: one list item each. */
  notes: string[];
  tables: Table[];
}

/** The result of one run of a benchmark. */
export interface Report {
  /** ISO 8601. */
  date: string;
  commit: string;
  machine: string;
  /** Bun, the system, and whether the measured process was pinned to one core. */
  runtime: string;
  sections: Section[];
}

/** Options of every benchmark. */
export const reportOptions = {
  /** Prints the report as JSON. */
  json: { type: 'boolean', default: false },
} as const;

const SIGNIFICANT_DIGITS = 5;

/** Makes a figure. @param values one per round; without values, the cell is empty */
export function figure(values: readonly number[], digits = 0, unit?: string): Cell {
  if (values.length === 0) return '';
  const rounded = values.map((value) => Number(value.toPrecision(SIGNIFICANT_DIGITS + digits)));
  return { values: rounded, digits, ...(unit === undefined ? {} : { unit }) };
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

const formatNumber = (value: number, digits: number): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Formats a figure: `12,345 (12,100 to 12,400) %`, without the range if it has one value. */
export function textOf(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  const { values, digits, unit } = cell;
  const { median, min, max } = spread(values);
  const spreads = values.length === 1 ? '' : ` (${formatNumber(min, digits)} to ${formatNumber(max, digits)})`;
  return `${formatNumber(median, digits)}${spreads}${unit === undefined ? '' : ` ${unit}`}`;
}

/** Formats a table as lines of Markdown. */
export const tableLines = ({ head, rows }: Table): string[] =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(textOf))].map((cells) => `| ${cells.join(' | ')} |`);

/** Formats a section without its heading: date, commit, machine, notes and tables. */
export function sectionLines({ notes, tables }: Section, { date, commit, machine, runtime }: Report): string[] {
  const facts = [`date: ${date.slice(0, 10)}; commit: ${commit}`, `machine: ${machine}`, runtime, ...notes];
  return [...facts.map((fact) => `- ${fact}`), ...tables.flatMap((table) => ['', ...tableLines(table)])];
}

/** The machine's description. */
const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`;

/** Prints the results. @param pinned whether the measured process was pinned to one core, if the system supports that */
export function publish(sections: Section[], { pinned = true } = {}): void {
  const place = pinned && canPin ? 'pinned to one core' : 'not pinned';
  const runtime = `Bun ${Bun.version}, ${process.platform} ${process.arch}; ${place}`;
  const report: Report = { date: new Date().toISOString(), commit: commit(), machine, runtime, sections };
  say(process.argv.includes('--json') ? JSON.stringify(report) : markdownOf(report));
}

/** Formats a report as Markdown. */
export const markdownOf = (report: Report): string =>
  report.sections
    .map((section) => [`## ${section.title}`, '', ...sectionLines(section, report)].join('\n'))
    .join('\n\n');
