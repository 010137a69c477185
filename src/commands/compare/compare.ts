/** `stackside compare`: sends the same requests to two servers of one chain, and prints how their responses differ. */
import { type Clock, pause, systemClock } from '../../base/clock.ts';
import { OperatorError, TemporaryError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { interruptible, printableText, writeNow } from '../cli/output.ts';
import { progressLines } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import { type Difference, differencesOf } from './differences.ts';
import {
  CONTENT_TYPE,
  commonReasons,
  isCompared,
  type KnownReason,
  reasonFor,
  referenceReasons,
  STATUS,
} from './known-differences.ts';
import { makeQuestion, type Question, type Route, readSamples, routes } from './questions.ts';
import {
  type Answer,
  apartText,
  type CommonChain,
  findCommonChain,
  NEAR,
  NoAnswer,
  readStatus,
  Server,
} from './server.ts';

interface Finding {
  path: string;
  /** The answers of each server if the difference has a known reason; null if not. */
  reason: Pick<KnownReason, 'here' | 'there'> | null;
  count: number;
  /** The first difference: its path and query, its place in the answer, and the values as shortened JSON. */
  example: { target: string; at: string; ours: string; theirs: string };
}

interface RouteTally {
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
  /** Heights of the blocks that rows were drawn from. */
  lowest: number;
  highest: number;
  /** Requests to the other server. */
  requests: number;
  routes: Record<string, RouteTally>;
}

export interface CompareOptions {
  ours: Server;
  theirs: Server;
  clock: Clock;
  routes: readonly Route[];
  /** Maximum number of requests to the other server. */
  requests: number;
  /** Called after both servers' tips were read, and after each question. The run changes the tally. */
  report: (tally: Tally, chain: CommonChain) => void;
}

/** A difference with its reason, and the path and query. */
interface LocatedDifference extends Difference {
  reason: KnownReason | null;
  target: string;
}

/** Maximum number of tries for a question, if the answers differ while blocks arrive. */
const MAX_ATTEMPTS = 4;
/** Milliseconds between two tries: the slower server may need them for a block. */
const SETTLE_MS = 3_000;
/** Header of a Stackside without older blocks. */
const HISTORY_HEADER = 'stackside-history-from';
const GONE = 410;
const BAD = 400;
/** Maximum number of stored paths per route, and of characters of a value. */
const MAX_FINDINGS = 50;
const MAX_TEXT = 160;

/** Sends a question to one server. @returns NoAnswer also for an answer that can't be compared */
async function askOne(server: Server, target: string, whose: string): Promise<Answer | NoAnswer> {
  const answer = await server.ask(target);
  if (answer instanceof NoAnswer) return answer;
  if (answer.headers.has(HISTORY_HEADER)) return new NoAnswer(`${whose} has only newer blocks`);
  return answer.status === GONE ? new NoAnswer(`${whose} has switched the route off`) : answer;
}

function answerDifferences(route: string, ours: Answer, theirs: Answer): Difference[] {
  const wholeDifference = (path: string, here: unknown, there: unknown): Difference[] => [
    { path, location: path, ours: here, theirs: there, isOrder: false },
  ];
  if (ours.status !== theirs.status) return wholeDifference(STATUS, ours.status, theirs.status);
  // The texts of errors may differ.
  if (ours.status >= BAD) return [];
  if (ours.type !== theirs.type) return wholeDifference(CONTENT_TYPE, ours.type, theirs.type);
  return differencesOf(ours.body, theirs.body).filter((difference) => isCompared(difference, route));
}

/** Path and query of the next page; null if there is none. Each server has its own cursors. */
function nextPage(target: string, { body }: Answer): string | null {
  const { cursor, next_cursor: next } = Object(body);
  const text = Object(cursor).next ?? next;
  if (typeof text !== 'string') return null;
  return `${target}${target.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(text)}`;
}

/** Sends a question to both servers once, and requests the second page, if there is one. */
async function compareOnce(
  { ours, theirs }: CompareOptions,
  { route, target, readsNextPage }: Question,
  reasons: readonly KnownReason[],
): Promise<LocatedDifference[] | NoAnswer> {
  const located: LocatedDifference[] = [];
  let targets: readonly [string, string] | null = [target, target];
  for (let page = 0; targets !== null; page++) {
    const here: Answer | NoAnswer = await askOne(ours, targets[0], 'this server');
    const there: Answer | NoAnswer = await askOne(theirs, targets[1], 'the other server');
    if (here instanceof NoAnswer) return here;
    if (there instanceof NoAnswer) return there;
    const answers = { route, target: targets[1], ours: here.body, theirs: there.body };
    for (const difference of answerDifferences(route, here, there)) {
      located.push({ ...difference, reason: reasonFor(reasons, difference, answers), target: targets[1] });
    }
    const [ourNext, theirNext]: (string | null)[] = [nextPage(target, here), nextPage(target, there)];
    targets = readsNextPage && page === 0 && ourNext && theirNext ? [ourNext, theirNext] : null;
  }
  return located;
}

/** Repeats a question until the answers are equal, or differ while both servers stay at the same block. */
async function compareUntilSettled(
  options: CompareOptions,
  question: Question,
  reasons: readonly KnownReason[],
): Promise<LocatedDifference[] | NoAnswer | 'moved'> {
  const { ours, theirs, clock } = options;
  const isSettled = (result: LocatedDifference[] | NoAnswer): boolean =>
    result instanceof NoAnswer || result.every(({ reason }) => reason !== null);
  const tips = async () => [(await readStatus(ours)).tip, (await readStatus(theirs)).tip] as const;
  const result = await compareOnce(options, question, reasons);
  if (question.isFixed || isSettled(result)) return result;
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    if (attempts > 0) await pause(clock, SETTLE_MS);
    const before = await tips();
    if (Math.abs(before[0].height - before[1].height) > NEAR) return 'moved';
    const retry = await compareOnce(options, question, reasons);
    if (isSettled(retry)) return retry;
    const after = await tips();
    if (after[0].hash === after[1].hash && Bun.deepEquals(before, after)) return retry;
  }
  return 'moved';
}

const emptyTally = (notAsked: string): RouteTally => ({
  ...{ equal: 0, known: 0, differing: 0, moved: 0 },
  unanswered: {},
  notAsked,
  findings: [],
});

function shorten(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

/** Adds a difference to the findings of a route, or counts it. */
function addFinding(
  { findings }: RouteTally,
  { path, location, ours, theirs, reason, target }: LocatedDifference,
): void {
  const same = findings.find((item) => item.path === path && item.reason?.here === reason?.here);
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

function count(route: RouteTally, outcome: LocatedDifference[] | NoAnswer | 'moved'): void {
  route.notAsked = null;
  if (outcome === 'moved') route.moved += 1;
  else if (outcome instanceof NoAnswer) {
    route.unanswered[outcome.reason] = (route.unanswered[outcome.reason] ?? 0) + 1;
  } else {
    if (outcome.length === 0) route.equal += 1;
    else if (outcome.every(({ reason }) => reason !== null)) route.known += 1;
    else route.differing += 1;
    for (const difference of outcome) addFinding(route, difference);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const unansweredOf = ({ unanswered }: RouteTally): number => sum(Object.values(unanswered));
const comparedOf = ({ equal, known, differing }: RouteTally): number => equal + known + differing;

/**
 * Compares until the maximum number of requests is reached.
 * @returns the common chain at the end
 * @throws OperatorError if the servers have different chains; TemporaryError if one can't be reached
 */
export async function compare(options: CompareOptions): Promise<CommonChain> {
  const { ours, theirs, routes, requests, report } = options;
  const chain = await findCommonChain(ours, theirs);
  const { lowest, common, isStackside } = chain;
  const highest = Math.max(lowest, common - NEAR);
  const tally: Tally = { url: theirs.url, api: ours.url, lowest, highest, requests: 0, routes: {} };
  const reasons = isStackside ? commonReasons : [...referenceReasons, ...commonReasons];
  report(tally, chain);
  // Other heights begin with other routes, because the last round may have too few requests for all of them.
  for (let round = 0; tally.requests < requests; round++) {
    const samples = await readSamples(ours, tally, round);
    for (const index of routes.keys()) {
      if (tally.requests >= requests) break;
      const place = (highest + index) % routes.length;
      const { path, subject } = routes[place]!;
      const question = makeQuestion(routes[place]!, samples, highest + round + place);
      const outcome = question === null ? null : await compareUntilSettled(options, question, reasons);
      const routeTally = tally.routes[path] ?? emptyTally(`no ${subject}`);
      tally.routes[path] = routeTally;
      if (outcome !== null) count(routeTally, outcome);
      tally.requests = theirs.requests;
      report(tally, chain);
    }
  }
  return findCommonChain(ours, theirs);
}

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

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

const differenceLines = ({ path, count, example }: Finding): string[] => [
  `        ${path === '' ? 'the whole answer' : path}: ${times(count)}`,
  `          ${example.target}`,
  `          ${example.at === path ? '' : `at ${example.at}: `}here ${example.ours}, there ${example.theirs}`,
];

/** Lines about known differences, one for each reason, with all its paths. */
const knownLines = (findings: readonly Finding[]): string[] =>
  [...Map.groupBy(findings, ({ reason }) => reason?.here).values()].flatMap((group) => [
    `        ${group.map(({ path, count }) => `${path} (${times(count)})`).join(', ')}`,
    `          here: ${group[0]?.reason?.here}`,
    `          there: ${group[0]?.reason?.there}`,
  ]);

/** The report for people, as lines. */
export function textReport(tally: Tally, chain: CommonChain): string[] {
  const { ours, theirs } = chain;
  const { routes, equal, known, differing, moved, unanswered } = totalsOf(tally);
  const lines = [
    `here    ${tally.api}, block ${ours.height} ${ours.hash}`,
    `there   ${tally.url}, block ${theirs.height} ${theirs.hash}`,
    `rows    of blocks ${tally.lowest} to ${tally.highest}; ${plural(tally.requests, 'request')}`,
    '',
  ];
  const section = (mark: string, toLines: (route: RouteTally) => string[]): void => {
    for (const [route, counts] of Object.entries(tally.routes).sort(([a], [b]) => (a < b ? -1 : 1))) {
      const details = toLines(counts);
      if (details.length > 0) lines.push(`${mark} ${route}`, ...details);
    }
  };
  section('DIFFERS', ({ findings }) => findings.filter(({ reason }) => reason === null).flatMap(differenceLines));
  section('known  ', ({ findings }) => knownLines(findings.filter(({ reason }) => reason !== null)));
  section('-      ', ({ moved, unanswered, notAsked }) => [
    ...(moved === 0 ? [] : [`        not settled ${times(moved)}: the tips moved, or are apart`]),
    ...Object.entries(unanswered).map(([reason, count]) => `        not compared ${times(count)}: ${reason}`),
    ...(notAsked === null ? [] : [`        not requested: ${notAsked}`]),
  ]);
  lines.push(
    `${differing === 0 ? 'ok     ' : 'DIFFERS'} ${plural(equal + known + differing, 'request')} on ${plural(routes, 'route')}: ${equal} equal, ${known} with known differences, ${differing} with other differences; ${moved} not settled, ${unanswered} not compared`,
  );
  const apart = apartText(chain);
  return apart === null ? lines : [...lines, `        ${apart}`];
}

/** The report as JSON: a line for each route, and one for all. */
function jsonReport({ routes, ...run }: Tally, chain: CommonChain): string[] {
  const { ours, theirs, common } = chain;
  const total = totalsOf({ routes, ...run });
  return [
    ...Object.entries(routes).map(([route, counts]) => JSON.stringify({ route, ...counts })),
    JSON.stringify({ total, ...run, tips: { ours, theirs, common }, apart: apartText(chain) }),
  ];
}

export interface CompareCommandOptions {
  rate: number;
  requests: number;
  json: boolean;
}

/** A URL in the form that `Server` accepts. */
const API_URL = /^https?:\/\/[^/?#\s@]+(\/[^?#\s]*)?$/;

function requireUrl(text: string, api: string): string {
  const url = text.replace(/\/+$/, '');
  if (!API_URL.test(url) || URL.parse(url) === null) {
    throw new OperatorError(
      'The URL of the other API has a wrong form.',
      'Give the URL without /extended and without a password, such as https://api.example.org. STACKSIDE_COMPARE_KEY can contain a key.',
    );
  }
  if (url !== api) return url;
  throw new OperatorError(`${url} is this server itself.`, 'Give the URL of another server, or set --url to this one.');
}

/**
 * Compares, and prints the findings, even if the comparison fails halfway.
 * @returns whether all differences have known reasons
 * @throws OperatorError for bad input or another chain; TemporaryError if a server can't be reached, or the two are apart
 */
export async function runCompare(
  { url: api, compareKey }: { url: string; compareKey: string | null },
  text: string,
  { rate, requests, json }: CompareCommandOptions,
): Promise<boolean> {
  const url = requireUrl(text, api);
  const common = { clock: systemClock, userAgent: `${serverVersion} compare` };
  const progress = progressLines(process.stderr);
  let now: { chain: CommonChain; tally: Tally } | null = null;

  const printFindings = (): void => {
    progress.erase();
    if (now === null) return;
    const lines = (json ? jsonReport : textReport)(now.tally, now.chain);
    writeNow(`${lines.map(printableText).join('\n')}\n`);
  };

  try {
    const end = await interruptible(printFindings, () =>
      compare({
        ours: new Server({ url: api, rate: null, key: null, ...common }),
        theirs: new Server({ url, rate, key: compareKey, ...common }),
        clock: systemClock,
        routes,
        requests,
        report(tally, chain) {
          const apart = apartText(chain);
          if (now === null && apart !== null) {
            process.stderr.write(`${apart} Responses that depend on the tip can't be compared.\n`);
          }
          now = { chain, tally };
          progress.draw(() => {
            const { equal, known, differing } = totalsOf(tally);
            return `${tally.requests} of ${requests} requests: ${equal + known} answers agree, ${differing} differ`;
          });
        },
      }),
    );
    now = { tally: now!.tally, chain: end };
  } catch (error) {
    if (error instanceof TemporaryError) printFindings();
    throw error;
  }
  printFindings();
  const apart = apartText(now.chain);
  if (totalsOf(now.tally).differing > 0) return false;
  if (apart !== null) throw new TemporaryError(apart, 'Run the command again once both are at the same block.');
  return true;
}
