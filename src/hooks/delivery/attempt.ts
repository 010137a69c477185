/**
 * One try to deliver: a POST to an address that was checked, signed with the secret of this moment, and what came of it; with
 * the rules for the next try.
 */

import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Clock } from '../../base/clock.ts';
import { utcMicroseconds } from '../../base/utc-time.ts';
import type { Attempt, Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { QueueName, Reason } from '../../store/rows/enums.ts';
import { definitionOf } from '../definition/definition.ts';
import type { OpenedSecrets } from './sealing.ts';
import { secretHeaders } from './signature.ts';
import { type Target, type TargetGuard, TargetRefused, TargetUnresolved } from './target.ts';

/** How deliveries are tried: times, retries and how many at once. */
export interface DeliveryRules {
  /** Milliseconds for one request. */
  timeoutMs: number;
  /** Milliseconds of them until the connection stands. */
  connectTimeoutMs: number;
  /** How long a delivery is tried before its hook is interrupted, in milliseconds. */
  budgetMs: number;
  /** The longest wait between two attempts in milliseconds, unless the receiver asks for a longer one. */
  retryCapMs: number;
  /** Requests under way at once. */
  concurrency: number;
}

const FIRST_WAIT_MS = 2_000;
const JITTER = 0.2;
/** Doublings of a wait after which any cap is reached. */
const MOST_DOUBLINGS = 30;

/**
 * How long to wait after failed attempts. Chance keeps hooks from coming back all at once.
 *
 * @param attempts how many failed, at least 1
 * @param capMs the longest wait, before chance
 * @param random from 0 to 1
 * @returns milliseconds
 */
export function backoff(attempts: number, capMs: number, random: () => number): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, MOST_DOUBLINGS), capMs);
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random()));
}

/** Receivers that hang must not take every place: a quarter is left to what is tried for the first time. */
export const mostRetries = (concurrency: number): number => Math.max(1, Math.floor(concurrency * 0.75));

/** Characters of an answer that are stored. */
const EXCERPT = 1024;
/** A receiver's wish to be left alone counts for so long at most. */
const MOST_RETRY_AFTER_MS = 3_600_000;

/** What came of an attempt. */
export interface AttemptResult extends Attempt {
  /** When the receiver wants to be tried again, in milliseconds from now; null where it doesn't say. */
  retryAfterMs: number | null;
  /** The target may not be called. */
  blocked: boolean;
}

/** The request of an attempt. */
interface Sending {
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
export const isSuccess = ({ statusCode }: AttemptResult): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

/** Why an attempt failed, in a sentence without a name. */
export function failureOf({ statusCode, error }: AttemptResult): string {
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
export async function attempt(sending: Sending, { guard, clock, post }: Outgoing): Promise<AttemptResult> {
  const at = clock.now();
  const started = clock.monotonic();
  const done = (outcome: Partial<AttemptResult>): AttemptResult => ({
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

/** What the headers say of a delivery. */
export interface DeliveryIdentity extends Pick<Delivery, 'webhookId' | 'sequence' | 'attempts'> {
  queue: QueueName | 'test';
  reason: Reason | 'test';
}

interface RequestOptions extends Outgoing {
  secrets: OpenedSecrets;
  rules: DeliveryRules;
  userAgent: string;
}

/**
 * Sends a body once; a failure is a result.
 * @param text the JSON text of the body @param signal ends the request
 * @throws SecretUnreadableError where it can't be signed, and before anything is sent
 */
export type DeliveryRequest = (
  record: HookRecord,
  delivery: DeliveryIdentity,
  text: string,
  signal: AbortSignal,
) => Promise<AttemptResult>;

/** Makes the function that signs a delivery and posts it to its receiver. */
export function deliveryRequest(options: RequestOptions): DeliveryRequest {
  const { secrets, rules, userAgent, guard, clock, post } = options;
  const { timeoutMs, connectTimeoutMs } = rules;

  function headersOf(record: HookRecord, delivery: DeliveryIdentity, body: Uint8Array): Record<string, string> {
    const at = clock.now();
    return {
      'content-type': 'application/json',
      'user-agent': userAgent,
      'webhook-id': delivery.webhookId,
      'webhook-timestamp': String(Math.floor(at / 1000)),
      ...secretHeaders(secrets.find(record.consumer), delivery.webhookId, body, at),
      'x-chainhook-uuid': record.uuid,
      ...(delivery.queue === 'live' ? { 'x-chainhook-sequence': String(delivery.sequence) } : {}),
      'x-chainhook-reason': delivery.reason,
      'x-chainhook-attempt': String(delivery.attempts + 1),
    };
  }

  return async (record, delivery, text, signal) => {
    const { url } = definitionOf(record).action;
    const body = Buffer.from(text);
    const headers = headersOf(record, delivery, body);
    return attempt({ url, headers, body, timeoutMs, connectTimeoutMs, signal }, { guard, clock, post });
  };
}

/** Bytes of an answer's body that are read. */
const MOST_READ = 4096;
/** How long the rest of an answer is waited for once its status is known. */
const ANSWER_MS = 1_000;
/** Answers before the answer (1xx) that are put up with. */
const MOST_INTERIM = 100;

export interface PostOptions extends Target {
  headers: Record<string, string>;
  body: Uint8Array;
  /** Milliseconds until the connection must be open. */
  connectTimeoutMs: number;
  /** How long the rest of an answer is waited for once its status is known; a second where it isn't given. */
  answerMs?: number;
  signal: AbortSignal;
  clock: Clock;
}

export interface Answer {
  status: number;
  retryAfter: string | null;
  /** How its body begins. */
  text: string;
}

/**
 * Connects to the checked addresses alone, without a proxy and without following redirects; the name is in the Host
 * header and is what a certificate must be for.
 * @throws Error where there is no answer: of the connection, of its parser, or because the signal ended it
 */
export function post(options: PostOptions): Promise<Answer> {
  const { url, connectTimeoutMs, answerMs = ANSWER_MS, signal, clock } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = begun(options);
  const endConnecting = clock.after(connectTimeoutMs, () =>
    fail(new Error(`no connection within ${connectTimeoutMs / 1000} s`)),
  );
  let interim = 0;
  let read: (() => void) | null = null;

  function answered(response: IncomingMessage): void {
    const { statusCode: status = 0, headers } = response;
    let text = '';
    const finish = () => {
      stopWaiting();
      resolve({ status, retryAfter: headers['retry-after'] ?? null, text });
      request.destroy();
    };
    // The status decides; what is said besides is only for the log.
    const stopWaiting = clock.after(answerMs, finish);
    read = finish;
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      text += part;
      if (text.length > MOST_READ) finish();
    });
    for (const event of ['end', 'error', 'close']) response.on(event, finish);
  }

  function fail(error: Error): void {
    reject(error);
    request.destroy();
  }

  // Not left to the request: it says nothing more once the other side took over its connection.
  const ended = () => (read === null ? fail(new Error('the attempt was ended')) : read());
  if (signal.aborted) ended();
  signal.addEventListener('abort', ended, { once: true });
  request.on('socket', (socket) => socket.once('connect', endConnecting));
  request.on('response', answered);
  request.on('information', () => {
    interim += 1;
    if (interim > MOST_INTERIM) fail(new Error(`more than ${MOST_INTERIM} interim answers from ${url.host}`));
  });
  request.on('upgrade', (response, socket) => {
    socket.destroy();
    answered(response);
    read?.();
  });
  request.on('error', fail);
  request.end(options.body);
  return promise.finally(() => {
    endConnecting();
    signal.removeEventListener('abort', ended);
  });
}

function begun({ url, addresses, headers, body }: PostOptions): ClientRequest {
  return (url.protocol === 'https:' ? https : http).request(url, {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'content-length': body.length },
    lookup: (_host, options, found) => {
      const [first] = addresses;
      if (options.all === true) found(null, addresses);
      else if (first !== undefined) found(null, first.address, first.family);
    },
  });
}

/** What carries a request to its receiver: {@link post}, or a network of a test's own. */
export type Post = typeof post;
