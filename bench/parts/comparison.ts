/** Runs a benchmark in another revision and in this working tree, in turn, each time in new processes. */
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { MEASURED, ROOT, run, script } from '../harness.ts';
import { type Cell, type Figure, type Report, type Section, spread } from '../results.ts';

/** Unpacks a revision into an empty directory, with the benchmarks and packages of this working tree. */
export async function unpack(revision: string, directory: string): Promise<void> {
  const archive = join(directory, 'revision.tar');
  await run(['git', 'archive', '--output', archive, revision]);
  await run(['tar', '-xf', archive, '-C', directory]);
  rmSync(join(directory, 'bench'), { recursive: true });
  cpSync(join(ROOT, 'bench'), join(directory, 'bench'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
}

/** Runs a benchmark of this tree. @param tree has the program to measure */
export async function reportOf(tree: string, bench: string, options: readonly string[]): Promise<Report> {
  const command = script(join(ROOT, 'bench', `${bench}.ts`), ...options, '--json');
  return JSON.parse((await run(command, { ...process.env, [MEASURED]: tree })).stdout);
}

function mergedCell(cells: readonly Cell[]): Cell {
  const figures = cells.filter((cell): cell is Figure => typeof cell !== 'string');
  const [first] = figures;
  return first === undefined ? cells[0]! : { ...first, values: figures.flatMap(({ values }) => values) };
}

/** Merges the items of equally long lists by their index. */
function inEach<T, R>(lists: readonly (readonly T[])[], merge: (ones: T[]) => R): R[] {
  const [first = []] = lists;
  if (lists.some(({ length }) => length !== first.length)) throw new Error('the reports have different rows');
  return first.map((_, index) => merge(lists.map((list) => list[index]!)));
}

/** Merges the sections of several runs: each figure has the values of all runs. */
export const merged = (reports: readonly Report[]): Section[] =>
  inEach(
    reports.map(({ sections }) => sections),
    (sections) => ({
      ...sections[0]!,
      tables: inEach(
        sections.map(({ tables }) => tables),
        (tables) => ({
          head: tables[0]!.head,
          rows: inEach(
            tables.map(({ rows }) => rows),
            (rows) => inEach(rows, mergedCell),
          ),
        }),
      ),
    }),
  );

export interface Comparison {
  now: Report;
  reference: Section[];
}

/**
 * Runs both in turn, each `rounds` times.
 * @param tree the directory of the other revision
 * @param options options of the benchmark; without `--repeat`, it runs once
 */
export async function compared(
  tree: string,
  bench: string,
  options: readonly string[],
  rounds: number,
): Promise<Comparison> {
  const once = options.includes('--repeat') ? options : [...options, '--repeat', '1'];
  const [now, reference]: [Report[], Report[]] = [[], []];
  for (let n = 0; n < rounds; n++) {
    // The order alternates, because the load of the machine changes.
    if (n % 2 === 0) now.push(await reportOf(ROOT, bench, once));
    reference.push(await reportOf(tree, bench, once));
    if (n % 2 === 1) now.push(await reportOf(ROOT, bench, once));
  }
  return { now: { ...now[0]!, sections: merged(now) }, reference: merged(reference) };
}

/** A figure in both revisions. */
export interface Pair {
  /** The labels of its row and its column. */
  name: string;
  reference: number[];
  now: number[];
}

const textCell = (cell: Cell | undefined): cell is string => typeof cell === 'string';

/** Returns the figures that both have, in order. */
export const pairsOf = ({ now, reference }: Comparison): Pair[] =>
  now.sections.flatMap((section, s) =>
    section.tables.flatMap((table, t) =>
      table.rows.flatMap((row, r) => {
        const label = row.filter(textCell).filter(Boolean).join(' ');
        return row.flatMap((cell, c) => {
          const before = reference[s]?.tables[t]?.rows[r]?.[c];
          if (textCell(cell) || textCell(before) || before === undefined) return [];
          const name = table.head.length === 2 ? label : `${label}: ${table.head[c]}`;
          return [{ name, reference: before.values, now: cell.values }];
        });
      }),
    ),
  );

/** Returns the figures whose median ratio to the other revision is greater than a limit for names with a text. */
export const exceeded = (comparison: Comparison, limits: readonly { text: string; ratio: number }[]) =>
  pairsOf(comparison).flatMap(({ name, reference, now }) => {
    const ratio = spread(now.map((value, round) => value / reference[round]!)).median;
    return limits
      .filter((limit) => name.includes(limit.text) && ratio > limit.ratio)
      .map((limit) => ({ name, ratio, limit: limit.ratio }));
  });
