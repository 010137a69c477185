/** The output of `stackside compare`. */
import type { OutputFormat } from '../cli/command.ts';
import { printableText, writeNow } from '../cli/output.ts';
import { apartText, type CommonChain } from './common-chain.ts';
import type { Finding, RouteTally, Tally } from './tally.ts';

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const unansweredOf = ({ unanswered }: RouteTally): number => sum(Object.values(unanswered));

/** Questions with two answers that could be compared. */
const comparedOf = ({ equal, known, differing }: RouteTally): number => equal + known + differing;

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

const differences = ({ findings }: RouteTally): Finding[] => findings.filter(({ reason }) => reason === null);
const knownOnes = ({ findings }: RouteTally): Finding[] => findings.filter(({ reason }) => reason !== null);

const valuesText = ({ ours, theirs }: Finding['example']): string => `here ${ours}, there ${theirs}`;

function differenceLines({ path, count, example }: Finding): string[] {
  const at = example.at === path ? '' : `at ${example.at}: `;
  return [
    `        ${path === '' ? 'the whole answer' : path}: ${times(count)}`,
    `          ${example.target}`,
    `          ${at}${valuesText(example)}`,
  ];
}

/** Lines about known differences, one for each reason, with all its paths. */
const knownLines = (known: readonly Finding[]): string[] =>
  [...Map.groupBy(known, ({ reason }) => `          here: ${reason?.here}\n          there: ${reason?.there}`)].flatMap(
    ([reason, found]) => [
      `        ${found.map(({ path, count }) => `${path} (${times(count)})`).join(', ')}`,
      ...reason.split('\n'),
    ],
  );

/** The totals of all routes. */
export function totalsOf({ routes }: Tally) {
  const all = Object.values(routes);
  return {
    routes: all.filter((one) => comparedOf(one) > 0).length,
    equal: sum(all.map(({ equal }) => equal)),
    known: sum(all.map(({ known }) => known)),
    differing: sum(all.map(({ differing }) => differing)),
    moved: sum(all.map(({ moved }) => moved)),
    unanswered: sum(all.map(unansweredOf)),
  };
}

/** The report for people, as lines. */
export function textReport(tally: Tally, standing: CommonChain): string[] {
  const { ours, theirs } = standing;
  const totals = totalsOf(tally);
  const byRoute = Object.entries(tally.routes).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = [
    `here    ${tally.api}, block ${ours.height} ${ours.hash}`,
    `there   ${tally.url}, block ${theirs.height} ${theirs.hash}`,
    `rows    of blocks ${tally.lowest} to ${tally.highest}, drawn with --seed ${tally.seed}; ${counted(tally.requests, 'request')}`,
    '',
  ];
  const section = (mark: string, of: (route: RouteTally) => string[]): void => {
    for (const [route, one] of byRoute) {
      const found = of(one);
      if (found.length > 0) lines.push(`${mark} ${route}`, ...found);
    }
  };
  section('DIFFERS', (one) => differences(one).flatMap(differenceLines));
  section('known  ', (one) => knownLines(knownOnes(one)));
  section('-      ', ({ moved, unanswered, notAsked }) => [
    ...(moved === 0 ? [] : [`        not settled ${times(moved)}: the tips moved, or are apart`]),
    ...Object.entries(unanswered).map(([reason, count]) => `        not compared ${times(count)}: ${reason}`),
    ...(notAsked === null ? [] : [`        not requested: ${notAsked}`]),
  ]);
  lines.push(
    `${totals.differing === 0 ? 'ok     ' : 'DIFFERS'} ${counted(totals.equal + totals.known + totals.differing, 'request')} on ${counted(totals.routes, 'route')}: ${totals.equal} equal, ${totals.known} with known differences, ${totals.differing} with other differences; ${totals.moved} not settled, ${totals.unanswered} not compared`,
  );
  const apart = apartText(standing);
  return apart === null ? lines : [...lines, `        ${apart}`];
}

function jsonReport(tally: Tally, standing: CommonChain): string[] {
  const { url, api, seed, lowest, highest, requests } = tally;
  const { ours, theirs, common } = standing;
  return [
    ...Object.entries(tally.routes).map(([route, one]) => ({ route, ...one })),
    {
      total: totalsOf(tally),
      ...{ url, api, seed, lowest, highest, requests },
      tips: { ours, theirs, common },
      apart: apartText(standing),
    },
  ].map((line) => JSON.stringify(line));
}

/** Prints the findings so far. @param format JSON has a line for each route, and one for all */
export function printReport(tally: Tally, standing: CommonChain, format: OutputFormat): void {
  const lines = format === 'json' ? jsonReport(tally, standing) : textReport(tally, standing);
  writeNow(`${lines.map(printableText).join('\n')}\n`);
}
