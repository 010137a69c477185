/** What benchmarks find: figures in tables, printed as Markdown, and kept as JSON that README files are made from. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { canPin, commit, ROOT, say } from './harness.ts';

/** What was measured, once a round. */
export interface Figure {
  values: number[];
  /** Digits behind the point that are shown. */
  digits: number;
  /** Stands behind the figure, such as `%`. */
  unit?: string;
}

export type Cell = string | Figure;

export interface Table {
  head: string[];
  rows: Cell[][];
}

/** What a heading stands above. */
export interface Section {
  title: string;
  /** What was measured and how, in Markdown; each is an item of a list. */
  notes: string[];
  tables: Table[];
}

/** What a run of a benchmark found. */
export interface Report {
  /** ISO 8601. */
  date: string;
  commit: string;
  machine: string;
  /** Bun, the system, and whether what is measured had a core of its own. */
  runtime: string;
  sections: Section[];
}

/** A report that is kept. */
export interface Result extends Report {
  /** The benchmark and its options. */
  command: string;
  /** What the same benchmark found at another revision, in the same rounds. */
  reference?: { revision: string; sections: Section[] };
}

/** Every benchmark's options have these. */
export const reportOptions = {
  /** Prints the report as JSON. */
  json: { type: 'boolean', default: false },
} as const;

/** Enough for any table, and few enough to read the file. */
const SIGNIFICANT_DIGITS = 5;

/** @param values one of each round; none makes an empty cell */
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

const written = (value: number, digits: number): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** `12,345 (12,100 to 12,400) %`; a figure that was taken once stands alone. */
export function textOf(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  const { values, digits, unit } = cell;
  const { median, min, max } = spread(values);
  const spreads = values.length === 1 ? '' : ` (${written(min, digits)} to ${written(max, digits)})`;
  return `${written(median, digits)}${spreads}${unit === undefined ? '' : ` ${unit}`}`;
}

/** The lines of a table in Markdown. */
export const tableLines = ({ head, rows }: Table): string[] =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(textOf))].map((cells) => `| ${cells.join(' | ')} |`);

/** A section without its heading: when, where and what, and its tables. */
export function sectionLines({ notes, tables }: Section, { date, commit: of, machine, runtime }: Report): string[] {
  const facts = [`date: ${date.slice(0, 10)}; commit: ${of}`, `machine: ${machine}`, runtime, ...notes];
  return [...facts.map((fact) => `- ${fact}`), ...tables.flatMap((table) => ['', ...tableLines(table)])];
}

/** The machine in words. */
const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`;

/** Prints what was found. @param pinned whether what was measured had a core of its own, where the system can do that */
export function publish(sections: Section[], { pinned = true } = {}): void {
  const place = pinned && canPin ? 'pinned to one core' : 'not pinned';
  const runtime = `Bun ${Bun.version}, ${process.platform} ${process.arch}; ${place}`;
  const report: Report = { date: new Date().toISOString(), commit: commit(), machine, runtime, sections };
  say(process.argv.includes('--json') ? JSON.stringify(report) : markdownOf(report));
}

/** A whole report in Markdown. */
export const markdownOf = (report: Report): string =>
  report.sections
    .map((section) => [`## ${section.title}`, '', ...sectionLines(section, report)].join('\n'))
    .join('\n\n');

const RESULTS = join(ROOT, 'bench', 'results');
const LINE = 120;

/** JSON in lines that are short, so that two versions of a file can be compared. */
function jsonLines(value: unknown, indent = ''): string {
  const whole = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || whole.length + indent.length <= LINE) return whole;
  const deeper = `${indent} `;
  const items = Array.isArray(value)
    ? value.map((item) => deeper + jsonLines(item, deeper))
    : Object.entries(value).map(([key, item]) => `${deeper}${JSON.stringify(key)}: ${jsonLines(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${items.join(',\n')}\n${indent}${close}`;
}

const fileOf = (name: string): string => join(RESULTS, `${name}.json`);

/** Keeps a result in place of the last one of the same name. */
export function keep(name: string, result: Result): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(fileOf(name), `${jsonLines(result)}\n`);
  say(`Kept in ${fileOf(name).slice(ROOT.length + 1)}.`);
}

/** Null where nothing of that name was kept. */
export const kept = (name: string): Result | null =>
  existsSync(fileOf(name)) ? JSON.parse(readFileSync(fileOf(name), 'utf8')) : null;
