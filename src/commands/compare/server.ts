/** One of the two servers: requests at a limited rate, and the blocks that both have. */
import type { Clock } from '../../base/clock.ts';
import { OperatorError, TemporaryError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { isTooDeep, MAX_FOREIGN_DEPTH } from '../../base/json.ts';
import { withRetries } from '../../base/service.ts';
import { makePacer } from '../../base/turns.ts';
import { UnreachableError, wholeAnswer } from '../../http/direct-fetch.ts';

export interface Answer {
  status: number;
  /** Media type without its parameters, such as `application/json`; empty without one. */
  type: string;
  /** The JSON value of the body, or its text if it isn't JSON. */
  body: unknown;
  headers: Headers;
}

/** The reason why a question has no comparable answer, as text. */
export class NoAnswer {
  constructor(readonly reason: string) {}
}

export interface ServerOptions {
  /** URL of the API, without a slash at its end. */
  url: string;
  clock: Clock;
  /** Maximum requests per second; null for no limit. */
  rate: number | null;
  /** Sent as `x-api-key`; null for none. */
  key: string | null;
  userAgent: string;
}

/** Milliseconds until an answer must be complete. */
export const ANSWER_MS = 30_000;
/** Maximum number of retries, and milliseconds before the first; each wait is four times as long as the one before. */
const RETRIES = 3;
const FIRST_RETRY_MS = 1_000;
/** Maximum seconds in `Retry-After` to wait. If a busy server asks for more, the command stops. */
const MAX_WAIT = 300;
/** Number of consecutive questions without an answer until the command stops. */
const MAX_FAILURES = 5;
/** Statuses of a busy server, and those that may pass when the request is repeated. */
const TOO_MANY = 429;
const BUSY: ReadonlySet<number> = new Set([TOO_MANY, 503]);
const PASSING: ReadonlySet<number> = new Set([...BUSY, 500, 502, 504]);
/** Failures that may pass. An answer that is too long or too slow would cost the server as much again. */
const BROKEN: ReadonlySet<string> = new Set(['broken', 'connection']);

/** Keeps integers that a double can't hold as texts, so that two of them are equal only if all digits are. */
const withExactNumbers = (_: string, value: unknown, { source }: { source?: string }): unknown =>
  typeof value === 'number' && source !== undefined && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
    ? `${source} (a number)`
    : value;

/** The value of a JSON text; the text itself if it isn't JSON. */
function parseBody(text: string): unknown {
  if (isTooDeep(text, MAX_FOREIGN_DEPTH)) return text;
  try {
    return JSON.parse(text, withExactNumbers as (key: string, value: unknown) => unknown);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/** Whether a retry may get another answer. A Stackside without older blocks stays without them. */
const isPassing = ({ status, body }: Answer): boolean =>
  PASSING.has(status) && Object(body).code !== 'HISTORY_INCOMPLETE';

/** The seconds in `Retry-After`; 0 without it, and for a date. */
const secondsAfter = ({ headers }: Answer): number => Number(/^\d+$/.exec(headers.get('retry-after') ?? '') ?? 0);

async function toAnswer(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const type = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return { status, type, headers, body: parseBody(await response.text()) };
}

export class Server {
  requests = 0;
  /** Consecutive questions without an answer. */
  #failures = 0;
  #hasAnswered = false;
  readonly #turn: ReturnType<typeof makePacer>;

  constructor(private readonly options: ServerOptions) {
    this.#turn = makePacer(options.rate, options.clock);
  }

  get url(): string {
    return this.options.url;
  }

  /**
   * Sends a question. Repeats the request if the server is busy or fails, or if a connection breaks that worked before.
   * @param target path and query
   * @throws TemporaryError if the server can't be reached, limits the requests for longer than the command waits, or doesn't
   *   answer several questions in a row
   */
  async ask(target: string): Promise<Answer | NoAnswer> {
    const send = () => this.#send(target);
    return this.#count(await withRetries(this.options.clock, send, (answer, tries) => this.#waitAfter(answer, tries)));
  }

  /** Milliseconds until a request may have another answer; null if never, or if that is too long. */
  #waitAfter(answer: Answer | UnreachableError, attempts: number): number | null {
    if (attempts > RETRIES) return null;
    const wait = FIRST_RETRY_MS * 4 ** (attempts - 1);
    if (answer instanceof UnreachableError) return this.#hasAnswered && BROKEN.has(answer.failure) ? wait : null;
    const seconds = secondsAfter(answer);
    return isPassing(answer) && seconds <= MAX_WAIT ? Math.max(wait, 1_000 * seconds) : null;
  }

  /** The error of a busy server; null for any other answer. @throws TemporaryError if it must not get more requests now */
  #busyError(answer: Answer): UnreachableError | null {
    if (!BUSY.has(answer.status) || !isPassing(answer)) return null;
    const seconds = secondsAfter(answer);
    const wait = seconds === 0 ? '' : ` with Retry-After ${plural(seconds, 'second')}`;
    const message = `${this.url} is too busy: it returned ${answer.status}`;
    if (answer.status === TOO_MANY || seconds > MAX_WAIT) {
      throw new TemporaryError(`${message}${wait}.`, 'Run the command again later with a lower --rate.');
    }
    return new UnreachableError(message, {}, 'late');
  }

  #count(answer: Answer | UnreachableError): Answer | NoAnswer {
    const error = answer instanceof UnreachableError ? answer : (this.#busyError(answer) ?? answer);
    if (!(error instanceof UnreachableError)) {
      this.#failures = 0;
      return error;
    }
    this.#failures += 1;
    if (error.failure !== 'connection' && this.#failures < MAX_FAILURES) return new NoAnswer(error.message);
    const remedy = 'Run the command again once the server answers, perhaps with a lower --rate.';
    throw new TemporaryError(`${error.message}.`, remedy, { cause: error.cause });
  }

  /** Sends a request once. Redirects aren't followed: another server must not get the key. */
  async #send(target: string): Promise<Answer | UnreachableError> {
    const { clock, key, userAgent } = this.options;
    const headers = { accept: '*/*', 'user-agent': userAgent, ...(key === null ? {} : { 'x-api-key': key }) };
    const limits = { server: this.url, timeoutMs: ANSWER_MS, clock };
    await this.#turn();
    this.requests += 1;
    try {
      const response = await wholeAnswer(`${this.url}${target}`, { headers }, limits);
      this.#hasAnswered = true;
      return await toAnswer(response);
    } catch (error) {
      if (error instanceof UnreachableError) return error;
      throw error;
    }
  }
}

export interface Tip {
  height: number;
  /** The index block hash. */
  hash: string;
  /** The height of the Bitcoin block that the server names with it. */
  burnHeight: number;
}

export interface CommonChain {
  ours: Tip;
  theirs: Tip;
  /** The lowest block that both servers have, and the highest block that is the same on both. */
  lowest: number;
  common: number;
  /** Whether the other server is also a Stackside. */
  isStackside: boolean;
}

const STATUS_PATH = '/extended';

/**
 * Returns the version, the tip and the height of the first block.
 * @throws TemporaryError if the server can't be reached or has no block; OperatorError if it isn't a Stacks API
 */
export async function readStatus(server: Server): Promise<{ version: string; tip: Tip; lowest: number }> {
  const answer = await server.ask(STATUS_PATH);
  const body = answer instanceof NoAnswer ? null : answer.body;
  const { server_version: version, chain_tip: tip, history_from: from = 1 } = Object(body);
  const { block_height: height, index_block_hash: hash, burn_block_height: burnHeight = 0 } = Object(tip);
  if (typeof version !== 'string') {
    const reason = answer instanceof NoAnswer ? answer.reason : `it returned ${answer.status}`;
    const isRedirect = !(answer instanceof NoAnswer) && answer.headers.has('location');
    throw new OperatorError(
      `${server.url}${STATUS_PATH} isn't the status of a Stacks API: ${reason}.`,
      isRedirect
        ? 'Give the URL of the server to which it redirects, perhaps with https.'
        : 'Give the URL without /extended, such as https://api.example.org.',
    );
  }
  if (typeof height !== 'number' || typeof hash !== 'string') {
    throw new TemporaryError(`${server.url} doesn't have a block yet.`, 'Run the command again when it is synced.');
  }
  return { version, lowest: Number(from), tip: { height, hash, burnHeight: Number(burnHeight) } };
}

/** The index block hash at a height; null if the server doesn't have the block. */
async function readHash(server: Server, height: number): Promise<string | null> {
  const answer = await server.ask(`/extended/v2/blocks/${height}`);
  const hash = answer instanceof NoAnswer ? null : Object(answer.body).index_block_hash;
  return typeof hash === 'string' ? hash : null;
}

/**
 * Finds the newest block that both servers have.
 * @throws OperatorError if they have different chains, or one isn't a Stacks API; TemporaryError if a server can't be reached,
 *   has no block yet, or has none of the other's blocks
 */
export async function findCommonChain(ours: Server, theirs: Server): Promise<CommonChain> {
  const [here, there] = [await readStatus(ours), await readStatus(theirs)];
  const lowest = Math.max(here.lowest, there.lowest);
  const highest = Math.min(here.tip.height, there.tip.height);
  if (highest < lowest) {
    throw new TemporaryError(
      `The servers don't share a block: ${here.lowest} to ${here.tip.height} here, ${there.lowest} to ${there.tip.height} there.`,
      'Run the command again once both have caught up.',
    );
  }
  const hashes = async (height: number) => [await readHash(ours, height), await readHash(theirs, height)] as const;
  const isSame = ([first, other]: readonly (string | null)[]): boolean => first !== null && first === other;
  const lowestHashes = await hashes(lowest);
  if (!isSame(lowestHashes)) {
    const [first, other] = lowestHashes;
    throw new OperatorError(
      `${theirs.url} has another chain: its block ${lowest} is ${other ?? 'unknown'}, here it is ${first ?? 'unknown'}.`,
      'Give the URL of an API of the same network.',
    );
  }
  let [low, high] = [lowest, highest];
  if (isSame(await hashes(highest))) low = highest;
  // The branches part once: below, all blocks are the same, above none is.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isSame(await hashes(middle))) low = middle;
    else high = middle;
  }
  const isStackside = there.version.startsWith('stackside ');
  return { ours: here.tip, theirs: there.tip, lowest, common: low, isStackside };
}

/** Number of newest blocks that may be missing or on another branch: such differences are normal. */
export const NEAR = 6;

/** Returns a sentence if one server is far behind, or on another fork that is more than a few blocks long; otherwise null. */
export function apartText({ ours, theirs, common }: CommonChain): string | null {
  const lowest = Math.min(ours.height, theirs.height);
  if (lowest - common > NEAR) {
    return `The servers are on different forks: they have the same blocks up to ${common}, and others from there to ${lowest}.`;
  }
  const lag = ours.height - theirs.height;
  if (Math.abs(lag) <= NEAR) return null;
  return lag > 0
    ? `The other server is behind: it lacks the newest ${lag} blocks of this one.`
    : `This server is behind: it lacks the newest ${-lag} blocks of the other one.`;
}
