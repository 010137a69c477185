/** Sends questions to a server: one at a time, with a limited rate, and with limits for its answers. */

import { type Clock, pause } from '../../base/clock.ts';
import { TemporaryError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { isTooDeep, MAX_FOREIGN_DEPTH } from '../../base/json.ts';
import { makePacer } from '../../base/turns.ts';
import { utcMicroseconds } from '../../base/utc-time.ts';
import { MAX_ANSWER_BYTES, UnreachableError, wholeAnswer } from '../../http/direct-fetch.ts';

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
/** Maximum number of retries after a temporary failure. */
const RETRIES = 3;
const FIRST_RETRY_MS = 1_000;
/** Maximum seconds in `Retry-After`. If a server requests more, the command fails. */
const MAX_WAIT = 300;
const MAX_REDIRECTS = 3;
/** Number of consecutive questions without an answer until the command stops. */
const MAX_FAILURES = 5;

/** Statuses of a busy server. */
const TOO_MANY = 429;
const BUSY: ReadonlySet<number> = new Set([TOO_MANY, 503]);
/** Statuses that may pass when the request is repeated. */
const PASSING: ReadonlySet<number> = new Set([500, 502, 504]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/** A request without a usable answer. */
class RequestFailure extends Error {
  override readonly name = 'Failed';
  constructor(
    message: string,
    /** Whether a retry may succeed. An answer that is too long or too slow would cost the server as much again. */
    readonly mayPass: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Only a failed connection has a cause, which stops the command at once. */
function failureOf({ failure, cause }: UnreachableError): RequestFailure {
  switch (failure) {
    case 'long':
      return new RequestFailure(`an answer of more than ${MAX_ANSWER_BYTES / 1e6} MB`, false);
    case 'late':
      return new RequestFailure(`no complete answer in ${ANSWER_MS / 1_000} seconds`, false);
    case 'broken':
      return new RequestFailure('an answer that broke off', true);
    case 'connection':
      return new RequestFailure('the connection failed', true, { cause });
  }
}

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

/** Parses a `Retry-After` with seconds or a time. @returns seconds; null for any other text */
function parseRetryAfter(retryAfter: string | null, now: number): number | null {
  if (retryAfter === null) return null;
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter);
  const time = utcMicroseconds(retryAfter);
  return time === null ? null : Math.max(0, Math.ceil((time / 1_000 - now) / 1_000));
}

/** Returns the target of a redirect that stays on the server. A key is never sent to another server, nor from TLS to plain text. */
function onSameHost(from: URL, location: string | null): URL | null {
  const to = location === null ? null : URL.parse(location, from.href);
  if (to === null || to.hostname !== from.hostname) return null;
  if (to.protocol === from.protocol) return to.port === from.port ? to : null;
  return from.protocol === 'http:' && to.protocol === 'https:' ? to : null;
}

export class Server {
  requests = 0;
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
   * Sends a question, with retries after temporary failures.
   * @param target path and query
   * @throws TemporaryError if the server can't be reached, or requests a longer wait
   */
  async ask(target: string): Promise<Answer | NoAnswer> {
    for (let attempts = 0; ; attempts++) {
      const isLast = attempts === RETRIES;
      const result = await this.#attempt(target);
      let seconds = 0;
      if (result instanceof RequestFailure) {
        // A server that has never answered may not exist.
        if (!result.mayPass || isLast || !this.#hasAnswered) return this.#countFailure(result);
      } else {
        this.#hasAnswered = true;
        const wait = this.#secondsAfter(result);
        if (wait === null || (isLast && !BUSY.has(result.status))) {
          this.#failures = 0;
          return result;
        }
        if (wait > MAX_WAIT || (isLast && result.status === TOO_MANY)) throw this.#tooBusyError(result.status, wait);
        if (isLast) return this.#countFailure(new RequestFailure(`${result.status}, again and again`, false));
        seconds = wait;
      }
      await pause(this.options.clock, Math.max(FIRST_RETRY_MS * 4 ** attempts, 1_000 * seconds));
    }
  }

  async #attempt(target: string): Promise<Answer | RequestFailure> {
    try {
      return await this.#request(new URL(`${this.url}${target}`));
    } catch (error) {
      if (error instanceof RequestFailure) return error;
      throw error;
    }
  }

  /** The seconds to wait before the request is repeated, 0 for any; null for an answer that stays. */
  #secondsAfter({ status, headers, body }: Answer): number | null {
    if (PASSING.has(status)) return 0;
    // A Stackside returns this if the question needs blocks that it lacks. Waiting doesn't help.
    if (!BUSY.has(status) || Object(body).code === 'HISTORY_INCOMPLETE') return null;
    return parseRetryAfter(headers.get('retry-after'), this.options.clock.now()) ?? 0;
  }

  #tooBusyError(status: number, seconds: number): TemporaryError {
    const asks = seconds === 0 ? '' : ` with Retry-After ${plural(seconds, 'second')}`;
    return new TemporaryError(
      `${this.url} is too busy: it returned ${status}${asks}.`,
      'Run the command again later with a lower --rate.',
    );
  }

  /** @throws TemporaryError if the server isn't there, or leaves one question after the other unanswered */
  #countFailure({ message, cause }: RequestFailure): NoAnswer {
    this.#failures += 1;
    if (cause === undefined && this.#failures < MAX_FAILURES) return new NoAnswer(message);
    const what = cause === undefined ? 'gives no answers' : "can't be reached";
    throw new TemporaryError(`${this.url} ${what}: ${message}.`, 'Run the command again once the server answers.', {
      cause,
    });
  }

  async #request(firstUrl: URL): Promise<Answer> {
    let url = firstUrl;
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#send(url);
      if (!REDIRECTS.has(answer.status) || redirects === MAX_REDIRECTS) return answer;
      const next = onSameHost(url, answer.headers.get('location'));
      if (next === null) return answer;
      url = next;
    }
  }

  async #send(url: URL): Promise<Answer> {
    await this.#turn();
    this.requests += 1;
    const { clock, key, userAgent } = this.options;
    const requestHeaders = { accept: '*/*', 'user-agent': userAgent, ...(key === null ? {} : { 'x-api-key': key }) };
    const limits = { server: this.url, timeoutMs: ANSWER_MS, clock };
    try {
      const response = await wholeAnswer(url, { headers: requestHeaders }, limits);
      const { status, headers } = response;
      const type = (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
      return { status, type, headers, body: parseBody(await response.text()) };
    } catch (error) {
      throw error instanceof UnreachableError ? failureOf(error) : error;
    }
  }
}
