/** `stackside compare`: sends the same requests to two servers of one chain, and prints how their responses differ. */
import { type Clock, pause, systemClock, systemRandom } from '../../base/clock.ts';
import { OperatorError, TemporaryError } from '../../base/errors.ts';
import { Prng } from '../../devnet/prng.ts';
import { HISTORY_HEADER } from '../../http/history.ts';
import type { SettingsOf } from '../../settings/config.ts';
import type { OutputFormat } from '../cli/command.ts';
import { interruptible } from '../cli/output.ts';
import { progressLines } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import { noMainThreadParts, resources } from '../serve/app.ts';
import { apartText, type CommonChain, findCommonChain, NEAR, readTips, type Tip } from './common-chain.ts';
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
import { makeQuestion, type Plan, plansOf, type Question, SkippedQuestion } from './questions.ts';
import { addFinding, printReport, routeTally, type Tally, totalsOf } from './report.ts';
import { drawSamples } from './samples.ts';
import { type Answer, NoAnswer, Server } from './server.ts';

export interface CompareOptions {
  ours: Server;
  theirs: Server;
  clock: Clock;
  plans: readonly Plan[];
  /** Maximum number of requests to the other server. */
  requests: number;
  seed: number;
  /** Called once after both servers' tips were read. The run changes this tally. */
  started: (chain: CommonChain, tally: Tally) => void;
  compared: () => void;
}

/** A difference with its reason, and the path and query. */
interface LocatedDifference {
  difference: Difference;
  reason: KnownReason | null;
  target: string;
}

/** Maximum number of tries for a question, if the answers differ while blocks arrive. */
const MAX_ATTEMPTS = 4;
/** Milliseconds between two tries: the slower server may need them for a block. */
const SETTLE_MS = 3_000;

const GONE = 410;
const BAD = 400;

/** Why an answer can't be compared; null if it can. */
function unansweredReason(answer: Answer | NoAnswer, whose: string): string | null {
  if (answer instanceof NoAnswer) return `${whose}: ${answer.reason}`;
  if (answer.headers.has(HISTORY_HEADER)) return `${whose} has only newer blocks`;
  return answer.status === GONE ? `${whose} has switched the route off` : null;
}

function answerDifferences(route: string, ours: Answer, theirs: Answer): Difference[] {
  const bodyDifference = (path: string, here: unknown, there: unknown): Difference[] => [
    { path, location: path, ours: here, theirs: there, isOrder: false },
  ];
  if (ours.status !== theirs.status) return bodyDifference(STATUS, ours.status, theirs.status);
  // The texts of errors may differ.
  if (ours.status >= BAD) return [];
  if (ours.type !== theirs.type) return bodyDifference(CONTENT_TYPE, ours.type, theirs.type);
  return differencesOf(ours.body, theirs.body).filter((difference) => isCompared(difference, route));
}

/** The cursor of the next page; null if there is none. */
function nextCursor({ body }: Answer): string | null {
  const { cursor, next_cursor: next } = Object(body);
  const text = Object(cursor).next ?? next;
  return typeof text === 'string' ? text : null;
}

const withCursor = (target: string, cursor: string): string =>
  `${target}${target.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;

const isSameTip = (a: Tip, b: Tip): boolean => a.hash === b.hash && a.burnHeight === b.burnHeight;

/** The result of a question: its differences (empty for equal answers), or the reason why there is no result. */
type Outcome = LocatedDifference[] | NoAnswer | 'moved';

/** Sends one question after the other. */
class Comparison {
  constructor(
    private readonly options: CompareOptions,
    private readonly reasons: readonly KnownReason[],
  ) {}

  /** Sends a question to both servers once, and requests the second page, if there is one. */
  async compareOnce({ route, target, readsNextPage }: Question): Promise<LocatedDifference[] | NoAnswer> {
    const { ours, theirs } = this.options;
    const page = async (ourTarget: string, theirTarget: string) => {
      const [here, there] = [await ours.ask(ourTarget), await theirs.ask(theirTarget)];
      const reason = unansweredReason(here, 'this server') ?? unansweredReason(there, 'the other server');
      if (reason !== null || here instanceof NoAnswer || there instanceof NoAnswer) return new NoAnswer(reason ?? '');
      const answers = { route, target: theirTarget, ours: here.body, theirs: there.body };
      const located = answerDifferences(route, here, there).map(
        (difference): LocatedDifference => ({
          difference,
          reason: reasonFor(this.reasons, difference, answers),
          target: theirTarget,
        }),
      );
      return { located, cursors: [nextCursor(here), nextCursor(there)] as const };
    };
    const first = await page(target, target);
    if (first instanceof NoAnswer) return first;
    const [here, there] = first.cursors;
    if (!readsNextPage || here === null || there === null) return first.located;
    const second = await page(withCursor(target, here), withCursor(target, there));
    return second instanceof NoAnswer ? second : [...first.located, ...second.located];
  }

  /** Repeats a question until the answers are equal, or differ while both servers stay at the same block. */
  async compareUntilSettled(question: Question): Promise<Outcome> {
    const { ours, theirs, clock } = this.options;
    const isSettled = (result: LocatedDifference[] | NoAnswer): boolean =>
      result instanceof NoAnswer || result.every(({ reason }) => reason !== null);
    const result = await this.compareOnce(question);
    if (question.isFixed || isSettled(result)) return result;
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      if (attempts > 0) await pause(clock, SETTLE_MS);
      const before = await readTips(ours, theirs);
      if (Math.abs(before.ours.height - before.theirs.height) > NEAR) return 'moved';
      const retry = await this.compareOnce(question);
      if (isSettled(retry)) return retry;
      const after = await readTips(ours, theirs);
      const stoodStill = isSameTip(before.ours, after.ours) && isSameTip(before.theirs, after.theirs);
      if (stoodStill && after.ours.hash === after.theirs.hash) return retry;
    }
    return 'moved';
  }
}

function count(tally: Tally, question: Question, outcome: Outcome): void {
  const route = routeTally(tally, question.route);
  route.notAsked = null;
  if (outcome === 'moved') route.moved += 1;
  else if (outcome instanceof NoAnswer) {
    route.unanswered[outcome.reason] = (route.unanswered[outcome.reason] ?? 0) + 1;
  } else {
    if (outcome.length === 0) route.equal += 1;
    else if (outcome.every(({ reason }) => reason !== null)) route.known += 1;
    else route.differing += 1;
    for (const { difference, reason, target } of outcome) addFinding(route, difference, target, reason);
  }
}

const hasOutcome = ({ equal, known, differing, moved, unanswered }: Tally['routes'][string]): boolean =>
  equal + known + differing + moved + Object.keys(unanswered).length > 0;

/**
 * Compares until the maximum number of requests is reached.
 * @returns the common chain at the end
 * @throws OperatorError if the servers have different chains; TemporaryError if one can't be reached
 */
export async function compare(options: CompareOptions): Promise<CommonChain> {
  const { ours, theirs, plans, requests, seed, started, compared } = options;
  const chain = await findCommonChain(ours, theirs);
  const { lowest, common, isStackside } = chain;
  const highest = Math.max(lowest, common - NEAR);
  const tally: Tally = { url: theirs.url, api: ours.url, seed, lowest, highest, requests: 0, routes: {} };
  const comparison = new Comparison(options, isStackside ? commonReasons : [...referenceReasons, ...commonReasons]);
  started(chain, tally);
  for (let round = 0; tally.requests < requests; round++) {
    const seedOfRound = `${seed} ${round}`;
    const samples = await drawSamples(ours, seedOfRound, tally);
    const order = new Prng(`${seedOfRound} order`).shuffle([...plans]);
    for (const [place, plan] of order.entries()) {
      if (tally.requests >= requests) break;
      const question = makeQuestion(plan, samples, `${seedOfRound} ${place}`);
      if (question instanceof SkippedQuestion) {
        const route = routeTally(tally, plan.path);
        if (!hasOutcome(route)) route.notAsked = question.reason;
      } else count(tally, question, await comparison.compareUntilSettled(question));
      tally.requests = theirs.requests;
      compared();
    }
  }
  return findCommonChain(ours, theirs);
}

export interface CompareCommandOptions {
  rate: number;
  requests: number;
  /** Default: random. */
  seed?: number;
  format: OutputFormat;
}

/** Random seeds are below it, so that they are short enough to type. */
const MAX_RANDOM_SEED = 1_000_000;

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
  if (url === api) {
    throw new OperatorError(
      `${url} is this server itself.`,
      'Give the URL of another server, or set --url to this one.',
    );
  }
  return url;
}

/**
 * Compares, and prints the findings, even if the comparison fails halfway.
 * @returns whether all differences have known reasons
 * @throws OperatorError for bad input or another chain; TemporaryError if a server can't be reached, or the two are apart
 */
export async function runCompare(
  { url: api, compareKey }: SettingsOf<'compare'>,
  text: string,
  { rate, requests, seed, format }: CompareCommandOptions,
): Promise<boolean> {
  const url = requireUrl(text, api);
  const routes = resources({
    ...noMainThreadParts,
    version: serverVersion,
    clock: systemClock,
    asksAboutTokens: true,
    namesContract: null,
  }).flat();
  const common = { clock: systemClock, userAgent: `${serverVersion} compare` };
  const progress = progressLines(process.stderr);
  let now: { chain: CommonChain; tally: Tally } | null = null;

  const printFindings = (): void => {
    progress.erase();
    if (now !== null) printReport(now.tally, now.chain, format);
  };

  try {
    const end = await interruptible(printFindings, () =>
      compare({
        ours: new Server({ url: api, rate: null, key: null, ...common }),
        theirs: new Server({ url, rate, key: compareKey, ...common }),
        clock: systemClock,
        plans: plansOf(routes),
        requests,
        seed: seed ?? Math.floor(systemRandom.number() * MAX_RANDOM_SEED),
        started(chain, tally) {
          now = { chain, tally };
          const apart = apartText(chain);
          if (apart !== null) process.stderr.write(`${apart} Responses that depend on the tip can't be compared.\n`);
        },
        compared() {
          const { tally } = now!;
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
