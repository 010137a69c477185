/** The texts and pictures that are made from the results. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../harness.ts';
import { kept, sectionLines, spread, tableLines, textOf } from '../results.ts';
import { figureAt, type Measured, measured, medianAt } from './goals.ts';
import { barChart } from './picture.ts';
import { sizingLines, sizingPictures } from './sizing.ts';

const START = /^<!-- figures: (\S+) -->$/;
const END = '<!-- end of figures -->';

/** What replaces the lines between the marks of a name; a name without an entry is that of a result. */
const writers: Readonly<Record<string, () => string[]>> = {
  goals: goalLines,
  performance: performanceLines,
  ...sizingLines,
};

function resultLines(name: string): string[] {
  const result = kept(name);
  if (result === null) throw new Error(`there is no result ${name}`);
  const several = result.sections.length > 1;
  return result.sections.flatMap((section, index) => [
    ...(index > 0 ? [''] : []),
    ...(several ? [`**${section.title}**`, ''] : []),
    ...sectionLines(section, result),
  ]);
}

/** The revision that figures are compared with; null where none is. */
const referenceOf = (rows: readonly Measured[]): string | null =>
  kept(rows.find(({ before }) => before !== null)?.result ?? '')?.reference?.revision ?? null;

/** The figures before and now, as far as both were measured. */
function goalLines(): string[] {
  const rows = measured();
  const reference = referenceOf(rows);
  const lines = tableLines({
    head: ['figure', 'goal', reference ?? 'before', 'now', 'now / before'],
    rows: rows.map(({ name, goal, before, now, ratio }) => [
      name,
      goal,
      before === null ? '' : textOf(before),
      now === null ? '' : textOf(now),
      ratio === null ? '' : textOf({ values: [ratio], digits: 2 }),
    ]),
  });
  return reference === null
    ? lines
    : [...lines, '', `![How many times better than at ${reference}](pictures/ratios.svg)`];
}

/** Two significant digits. */
const about = (value: number): string => Number(value.toPrecision(2)).toLocaleString('en-US');

function performanceLines(): string[] {
  const ingest = (row: string, column?: string): string =>
    about(medianAt({ result: 'ingest', row, ...(column === undefined ? {} : { column }) }));
  const id = '/extended/v3/transactions/{tx_id}';
  const http = (result: string, column: string): string => about(medianAt({ result, row: id, column }));
  const [again, once] = ['http', 'http-distinct'].map((result) => [
    http(result, 'requests/s'),
    http(result, 'of the empty route'),
  ]);
  const socket = (row: string): string => about(medianAt({ result: 'subscribers', row, column: 'KB each' }));
  const page = spread(
    (kept('lists')?.sections[0]?.tables[1]?.rows ?? [])
      .slice(0, 3)
      .flatMap((row) => row.slice(3, 6))
      .flatMap((cell) => (typeof cell === 'string' ? [] : [spread(cell.values).median])),
  ).max;
  const filtered = (kept('filters')?.sections[0]?.tables[0]?.rows ?? [])
    .filter((_, index) => index % 2 === 1)
    .flatMap(([, , , cell]) => (cell === undefined || typeof cell === 'string' ? [] : [spread(cell.values).median]));
  const { median: usual, max: worst } = spread(filtered);
  const kilobytes = (row: string): string => about(medianAt({ result: 'ingest', row }) / 1000);
  return [
    '| | | measured by |',
    '|---|---|---|',
    `| import of a recording, one core | ${ingest('transactions/s')} transactions/s and ${ingest('MB of JSON/s')} MB of JSON/s; ${ingest('peak memory, MB')} MB of memory | \`bench/ingest.ts\` |`,
    `| disk | ${kilobytes('index, bytes a transaction')} KB of index and ${kilobytes('journal, bytes a transaction')} KB of journal per transaction | \`bench/ingest.ts\` |`,
    `| one transaction by its id | ${again![0]} requests/s from the response cache, ${once![0]} without it: ${again![1]} % and ${once![1]} % of an empty route | \`bench/http.ts\` |`,
    `| a page of 50 (first, middle or last) of 10 thousand or a million transactions | ${about(page / 1000)} ms | \`bench/lists.ts\` |`,
    `| a page of v1's transactions by any filter and order, of 100 thousand | ${about(usual / 1000)} ms, ${about(worst / 1000)} ms at worst | \`bench/filters.ts\` |`,
    `| reads while events arrive at full speed, \`--threads 1\` | ${about(medianAt({ result: 'under-ingest', row: '1', column: 'ratio of p99' }))} times the p99 of the same reads without events | \`bench/under-ingest.ts\` |`,
    `| memory per subscriber | ${socket('WebSocket')} KB by WebSocket, ${socket('Socket.IO')} KB by Socket.IO | \`bench/subscribers.ts\` |`,
    `| time from start to the first answer | ${about(medianAt({ result: 'start', row: 'the first answer' }))} ms | \`bench/start.ts\` |`,
  ];
}

/** A text with what stands between its marks made anew. @throws Error where a mark has no end */
export function rewritten(text: string): string {
  const lines: string[] = [];
  let inside = false;
  for (const line of text.split('\n')) {
    if (line === END) inside = false;
    if (!inside) lines.push(line);
    const name = START.exec(line)?.[1];
    if (name === undefined) continue;
    inside = true;
    lines.push(...(writers[name] ?? (() => resultLines(name)))());
  }
  if (inside) throw new Error(`${END} is missing`);
  return lines.join('\n');
}

const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

function ratioPicture(): string | null {
  const all = measured();
  const rows = all.flatMap(({ name, better, ratio }) =>
    ratio === null ? [] : [{ label: name, values: [better === 'more' ? ratio : 1 / ratio] }],
  );
  if (rows.length === 0) return null;
  const title = `How many times better than at ${referenceOf(all)} (logarithmic)`;
  return barChart({ title, series: ['now'], rows, shown: (value) => value.toFixed(2), factors: true });
}

function requestsPicture(): string {
  const rows = (kept('http')?.sections[0]?.tables[0]?.rows ?? []).flatMap(([route]) => {
    if (typeof route !== 'string' || route === 'empty route') return [];
    const rates = ['http', 'http-distinct'].map((result) => figureAt({ result, row: route, column: 'requests/s' }));
    const values = rates.flatMap((rate) => (rate === null ? [] : [spread(rate.values).median]));
    // A route that only one of the two has measured so far is left out.
    return values.length < rates.length ? [] : [{ label: route.replace('/extended/', ''), values }];
  });
  return barChart({
    title: 'Requests/s on one core',
    series: ['the same URLs again', 'each URL once'],
    rows,
    shown: (value) => SHORT.format(value),
  });
}

/** All files that are made from the results: their paths and what they hold. */
export function documents(): Map<string, string> {
  const pictures: [string, string | null][] = [
    ['ratios.svg', ratioPicture()],
    ['requests.svg', requestsPicture()],
    ...sizingPictures(),
  ];
  const texts = ['README.md', 'bench/README.md', 'docs/sizing.md'].filter((path) => existsSync(join(ROOT, path)));
  return new Map([
    ...texts.map((path): [string, string] => [path, rewritten(readFileSync(join(ROOT, path), 'utf8'))]),
    ...pictures.flatMap(([name, picture]): [string, string][] =>
      picture === null ? [] : [[`bench/pictures/${name}`, picture]],
    ),
  ]);
}
