/**
 * One attempt of a delivery: a POST to a checked address, signed with the present secret, and its result; with the rules for
 * the next attempt.
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

/** Settings of attempts: timeouts, retries and concurrency. */
export interface DeliveryRules {
  /** Timeout of a request in milliseconds. */
  timeoutMs: number;
  /** Part of the timeout until the connection is open, in milliseconds. */
  connectTimeoutMs: number;
  /** Milliseconds for which a delivery is tried before its hook is interrupted. */
  budgetMs: number;
  /** Maximum wait between two attempts in milliseconds, unless the receiver asks for a longer one. */
  retryCapMs: number;
  /** Maximum requests under way. */
  concurrency: number;
}

const FIRST_WAIT_MS = 2_000;
const JITTER = 0.2;
/** Doublings after which a wait exceeds any cap. */
const MOST_DOUBLINGS = 30;

/**
 * The wait after failed attempts. Randomness keeps hooks from retrying all at once.
 *
 * @param attempts number of failed attempts, at least 1
 * @param capMs maximum wait in milliseconds, before the random part
 * @param random returns a number from 0 to 1
 * @returns milliseconds
 */
export function backoff(attempts: number, capMs: number, random: () => number): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, MOST_DOUBLINGS), capMs);
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random()));
}

/** Maximum retries under way: receivers that hang leave a quarter of the requests to first attempts. */
export const mostRetries = (concurrency: number): number => Math.max(1, Math.floor(concurrency * 0.75));

/** Characters of a response that are stored. */
const EXCERPT = 1024;
/** Maximum Retry-After of a receiver that is honoured. */
const MOST_RETRY_AFTER_MS = 3_600_000;

/** The result of an attempt. */
export interface AttemptResult extends Attempt {
  /** The Retry-After of the receiver in milliseconds; null without one. */
  retryAfterMs: number | null;
  /** Whether the target is not allowed. */
  blocked: boolean;
}

/** The request of an attempt. */
interface Sending {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
  timeoutMs: number;
  /** Part of the timeout until the connection is open, in milliseconds. */
  connectTimeoutMs: number;
  /** Maximum wait for the rest of a response after its status, in milliseconds; 1,000 by default. */
  answerMs?: number;
  /** Ends the attempt, for example when the process stops. */
  signal: AbortSignal;
}

/** Statuses whose Retry-After is honoured. */
const ASKS_TO_WAIT = new Set([429, 502, 503, 504]);

/** Reads a Retry-After, which is seconds or a date. @returns milliseconds from now; null if it is neither */
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

/** Why an attempt failed, as a clause without the receiver's name. */
export function failureOf({ statusCode, error }: AttemptResult): string {
  if (statusCode === null) return error ?? 'no answer';
  if (statusCode === PAYLOAD_TOO_LARGE) return 'status 413: the receiver takes no body this large';
  if (statusCode >= 300 && statusCode < 400) return `status ${statusCode}: redirects are not followed`;
  return `status ${statusCode}`;
}

/** What attempts need. */
export interface Outgoing {
  guard: TargetGuard;
  clock: Clock;
  /** Sends the request. */
  post: Post;
}

/** Makes one attempt. Never rejects: a failure is a result. */
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
  // Not AbortSignal.any or .timeout: such signals outlive the attempt, and would hold its body in memory.
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

/** The delivery as its headers identify it. */
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
 * @param text JSON text of the body @param signal ends the request
 * @throws SecretUnreadableError before anything is sent, if the body can't be signed
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

/** Maximum bytes of a response body that are read. */
const MOST_READ = 4096;
/** Maximum wait for the rest of a response after its status, in milliseconds. */
const ANSWER_MS = 1_000;
/** Maximum interim responses (1xx) of a request. */
const MOST_INTERIM = 100;

export interface PostOptions extends Target {
  headers: Record<string, string>;
  body: Uint8Array;
  /** Timeout for opening the connection, in milliseconds. */
  connectTimeoutMs: number;
  /** Maximum wait for the rest of a response after its status, in milliseconds; 1,000 by default. */
  answerMs?: number;
  signal: AbortSignal;
  clock: Clock;
}

export interface Answer {
  status: number;
  retryAfter: string | null;
  /** Beginning of the body. */
  text: string;
}

/**
 * Sends a POST to the checked addresses only, without proxies and redirects. The URL's name is sent in the Host header, and
 * certificates must be for it.
 * @throws Error without a response: the connection or the parser failed, or the signal ended the request
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
    // The status decides the result; the body is only for the delivery log.
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

  // The request itself emits no event once the other side has upgraded its connection.
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

/** Sends a request to its receiver: {@link post}, or a network of a test. */
export type Post = typeof post;
