/** The findings of `stackside compare`, and their output. */
import { plural } from '../../base/format.ts';
import type { OutputFormat } from '../cli/command.ts';
import { printableText, writeNow } from '../cli/output.ts';
import { apartText, type CommonChain } from './common-chain.ts';
import type { Difference } from './differences.ts';
import type { KnownReason } from './known-differences.ts';

interface Finding {
  path: string;
  /** The answers of each server if the difference has a known reason; null if not. */
  reason: Pick<KnownReason, 'here' | 'there'> | null;
  count: number;
  /** The first difference: its path and query, its place in the answer, and the values as shortened JSON. */
  example: { target: string; at: string; ours: string; theirs: string };
}

export interface RouteTally {
  equal: number;
  /** Questions that only have differences with known reasons, and questions with others. */
  known: number;
  differing: number;
  /** Questions whose answers differed each time, but so did the tips. */
  moved: number;
  /** Questions without two answers that can be compared, by the reason. */
  unanswered: Record<string, number>;
  /** Reason why no question was sent; null after the first question. */
  notAsked: string | null;
  findings: Finding[];
}

export interface Tally {
  url: string;
  api: string;
  seed: number;
  /** Heights of the blocks that rows were drawn from. */
  lowest: number;
  highest: number;
  /** Requests to the other server. */
  requests: number;
  routes: Record<string, RouteTally>;
}

/** Maximum number of stored paths per route. More paths wouldn't help. */
const MAX_FINDINGS = 50;
/** Characters of a value that are kept. */
const MAX_TEXT = 160;

/** Returns the tally of a route, which starts empty. */
export function routeTally({ routes }: Tally, route: string): RouteTally {
  const totals = routes[route] ?? {
    equal: 0,
    known: 0,
    differing: 0,
    moved: 0,
    unanswered: {},
    notAsked: null,
    findings: [],
  };
  routes[route] = totals;
  return totals;
}

function shorten(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

/** Adds a difference to the findings of a route. @param target path and query of the question */
export function addFinding(
  { findings }: RouteTally,
  { path, location, ours, theirs }: Difference,
  target: string,
  reason: KnownReason | null,
): void {
  const same = findings.find((item) => item.path === path && (item.reason?.here ?? null) === (reason?.here ?? null));
  if (same !== undefined) same.count += 1;
  else if (findings.length < MAX_FINDINGS) {
    findings.push({
      path,
      reason: reason === null ? null : { here: reason.here, there: reason.there },
      count: 1,
      example: { target, at: location, ours: shorten(ours), theirs: shorten(theirs) },
    });
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const unansweredOf = ({ unanswered }: RouteTally): number => sum(Object.values(unanswered));

const comparedOf = ({ equal, known, differing }: RouteTally): number => equal + known + differing;

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

const newFindings = ({ findings }: RouteTally): Finding[] => findings.filter(({ reason }) => reason === null);
const knownFindings = ({ findings }: RouteTally): Finding[] => findings.filter(({ reason }) => reason !== null);

const valuesText = ({ ours, theirs }: Finding['example']): string => `here ${ours}, there ${theirs}`;

function differenceLines({ path, count, example }: Finding): string[] {
  const place = example.at === path ? '' : `at ${example.at}: `;
  return [
    `        ${path === '' ? 'the whole answer' : path}: ${times(count)}`,
    `          ${example.target}`,
    `          ${place}${valuesText(example)}`,
  ];
}

/** Lines about known differences, one for each reason, with all its paths. */
const knownLines = (findings: readonly Finding[]): string[] =>
  [
    ...Map.groupBy(findings, ({ reason }) => `          here: ${reason?.here}\n          there: ${reason?.there}`),
  ].flatMap(([reason, group]) => [
    `        ${group.map(({ path, count }) => `${path} (${times(count)})`).join(', ')}`,
    ...reason.split('\n'),
  ]);

/** The totals of all routes. */
export function totalsOf({ routes }: Tally) {
  const all = Object.values(routes);
  return {
    routes: all.filter((route) => comparedOf(route) > 0).length,
    equal: sum(all.map(({ equal }) => equal)),
    known: sum(all.map(({ known }) => known)),
    differing: sum(all.map(({ differing }) => differing)),
    moved: sum(all.map(({ moved }) => moved)),
    unanswered: sum(all.map(unansweredOf)),
  };
}

/** The report for people, as lines. */
export function textReport(tally: Tally, chain: CommonChain): string[] {
  const { ours, theirs } = chain;
  const totals = totalsOf(tally);
  const byRoute = Object.entries(tally.routes).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = [
    `here    ${tally.api}, block ${ours.height} ${ours.hash}`,
    `there   ${tally.url}, block ${theirs.height} ${theirs.hash}`,
    `rows    of blocks ${tally.lowest} to ${tally.highest}, drawn with --seed ${tally.seed}; ${plural(tally.requests, 'request')}`,
    '',
  ];
  const section = (mark: string, toLines: (route: RouteTally) => string[]): void => {
    for (const [route, counts] of byRoute) {
      const details = toLines(counts);
      if (details.length > 0) lines.push(`${mark} ${route}`, ...details);
    }
  };
  section('DIFFERS', (route) => newFindings(route).flatMap(differenceLines));
  section('known  ', (route) => knownLines(knownFindings(route)));
  section('-      ', ({ moved, unanswered, notAsked }) => [
    ...(moved === 0 ? [] : [`        not settled ${times(moved)}: the tips moved, or are apart`]),
    ...Object.entries(unanswered).map(([reason, count]) => `        not compared ${times(count)}: ${reason}`),
    ...(notAsked === null ? [] : [`        not requested: ${notAsked}`]),
  ]);
  lines.push(
    `${totals.differing === 0 ? 'ok     ' : 'DIFFERS'} ${plural(totals.equal + totals.known + totals.differing, 'request')} on ${plural(totals.routes, 'route')}: ${totals.equal} equal, ${totals.known} with known differences, ${totals.differing} with other differences; ${totals.moved} not settled, ${totals.unanswered} not compared`,
  );
  const apart = apartText(chain);
  return apart === null ? lines : [...lines, `        ${apart}`];
}

function jsonReport(tally: Tally, chain: CommonChain): string[] {
  const { url, api, seed, lowest, highest, requests } = tally;
  const { ours, theirs, common } = chain;
  return [
    ...Object.entries(tally.routes).map(([route, counts]) => ({ route, ...counts })),
    {
      total: totalsOf(tally),
      url,
      api,
      seed,
      lowest,
      highest,
      requests,
      tips: { ours, theirs, common },
      apart: apartText(chain),
    },
  ].map((line) => JSON.stringify(line));
}

/** Prints the findings so far. @param format JSON has a line for each route, and one for all */
export function printReport(tally: Tally, chain: CommonChain, format: OutputFormat): void {
  const lines = format === 'json' ? jsonReport(tally, chain) : textReport(tally, chain);
  writeNow(`${lines.map(printableText).join('\n')}\n`);
}
