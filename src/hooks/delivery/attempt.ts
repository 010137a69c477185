/** One try to deliver: a POST to an address that was checked, and what came of it. */

import type { Clock } from '../../base/clock.ts';
import { utcMicroseconds } from '../../base/utc-time.ts';
import type { Attempt } from '../../store/hooks/model.ts';
import type { Post } from './post.ts';
import { type TargetGuard, TargetRefused, TargetUnresolved } from './target.ts';

/** Characters of an answer that are kept. */
const EXCERPT = 1024;
/** A receiver's wish to be left alone counts for so long at most. */
const MOST_RETRY_AFTER_MS = 3_600_000;

/** What came of an attempt. */
export interface Result extends Attempt {
  /** When the receiver wants to be tried again, in milliseconds from now; null where it doesn't say. */
  retryAfterMs: number | null;
  /** The target may not be called. */
  blocked: boolean;
}

/** The request of an attempt. */
export interface Sending {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
  timeoutMs: number;
  /** Milliseconds of them until the connection stands. */
  connectTimeoutMs: number;
  /** How long the rest of an answer is waited for once its status is known; a second where it isn't given. */
  answerMs?: number;
  /** Ends the attempt, as when the process stops. */
  signal: AbortSignal;
}

/** Statuses whose Retry-After is honoured. */
const ASKS_TO_WAIT = new Set([429, 502, 503, 504]);

/** Seconds or a date, to milliseconds from now. */
export function retryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  const date = utcMicroseconds(text.trim());
  const at = /^\d+$/.test(text.trim()) ? now + Number(text) * 1000 : date === null ? null : date / 1000;
  return at === null ? null : Math.min(Math.max(0, at - now), MOST_RETRY_AFTER_MS);
}

const PAYLOAD_TOO_LARGE = 413;

/** Whether the receiver answered 2xx. */
export const isSuccess = ({ statusCode }: Result): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

/** Why an attempt failed, in a sentence without a name. */
export function failureOf({ statusCode, error }: Result): string {
  if (statusCode === null) return error ?? 'no answer';
  if (statusCode === PAYLOAD_TOO_LARGE) return 'status 413: the receiver takes no body this large';
  if (statusCode >= 300 && statusCode < 400) return `status ${statusCode}: redirects are not followed`;
  return `status ${statusCode}`;
}

/** What an attempt is made with. */
export interface Outgoing {
  guard: TargetGuard;
  clock: Clock;
  /** Carries it to the receiver. */
  post: Post;
}

/** Tries once. Never rejects: a failure is a result. */
export async function attempt(sending: Sending, { guard, clock, post }: Outgoing): Promise<Result> {
  const at = clock.now();
  const started = clock.monotonic();
  const done = (outcome: Partial<Result>): Result => ({
    at,
    durationMs: Math.round(clock.monotonic() - started),
    urlHost: URL.parse(sending.url)?.host ?? '',
    statusCode: null,
    error: null,
    excerpt: null,
    retryAfterMs: null,
    blocked: false,
    ...outcome,
  });
  // By hand: signals that are made of others, or of a time, outlive the attempt, and its body with them.
  const ending = new AbortController();
  const end = () => ending.abort();
  let late = false;
  const cancel = clock.after(sending.timeoutMs, () => {
    late = true;
    end();
  });
  sending.signal.addEventListener('abort', end, { once: true });
  if (sending.signal.aborted) end();
  try {
    const target = await Promise.race([guard.check(sending.url), aborted(ending.signal)]);
    const answer = await post({ ...sending, ...target, signal: ending.signal, clock });
    return done({
      statusCode: answer.status,
      excerpt: answer.text.slice(0, EXCERPT),
      retryAfterMs: ASKS_TO_WAIT.has(answer.status) ? retryAfter(answer.retryAfter, clock.now()) : null,
    });
  } catch (error) {
    if (error instanceof TargetRefused)
      return done({ error: `the URL is not allowed: ${error.message}`, blocked: true });
    if (late) return done({ error: `no answer within ${sending.timeoutMs / 1000} s` });
    return done({ error: reasonOf(error) });
  } finally {
    cancel();
    sending.signal.removeEventListener('abort', end);
  }
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof TargetUnresolved) return error.message;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return code === 'Error' || error.message.includes(code) ? error.message : `${code}: ${error.message}`;
};

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = () => reject(new Error('the attempt was ended'));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
