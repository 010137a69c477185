/** Makes one attempt of a delivery, a signed POST to a checked address, and has the rules for the next attempt. */

import { backoff, JITTER } from '../../base/service.ts';
import {
  checkedTarget,
  failureReason,
  MAX_RETRY_AFTER_MS,
  type Outgoing,
  retryAfter,
  type SendOptions,
  TargetRefused,
  withTimeout,
} from '../../http/outgoing.ts';
import type { Attempt, Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { QueueName, Reason } from '../../store/rows/enums.ts';
import { parseDefinition } from '../definition/definition.ts';
import type { SecretReader } from './sealing.ts';
import { secretHeaders } from './signature.ts';

/** Rules of attempts: timeouts, retries and concurrency. */
export interface DeliveryRules {
  /** Timeout of a request in milliseconds. */
  timeoutMs: number;
  /** Part of the timeout until the connection is open, in milliseconds. */
  connectTimeoutMs: number;
  /** Milliseconds of retries before a failing delivery interrupts its hook. */
  budgetMs: number;
  /** Maximum wait between two attempts in milliseconds, unless the receiver requests a longer one. */
  retryCapMs: number;
  /** Maximum requests under way. */
  concurrency: number;
}

const FIRST_WAIT_MS = 2_000;

/**
 * The wait after failed attempts. Randomness keeps hooks from retrying all at once.
 *
 * @param attempts number of failed attempts, at least 1
 * @param capMs maximum wait in milliseconds, before the random part
 * @param random returns a number from 0 to 1
 * @returns milliseconds
 */
export const retryWait = (attempts: number, capMs: number, random: () => number): number =>
  backoff(attempts, { firstMs: FIRST_WAIT_MS, maxMs: capMs, random });

/** Returns the maximum wait between two attempts in milliseconds. A retry is only due later if the clock was set back. */
export const maxWait = ({ retryCapMs }: DeliveryRules): number =>
  Math.max(retryCapMs * (1 + JITTER), MAX_RETRY_AFTER_MS);

/** Maximum retries under way: receivers that hang leave a quarter of the requests to first attempts. */
export const maxRetries = (concurrency: number): number => Math.max(1, Math.floor(concurrency * 0.75));

/** Characters of a response that are stored. */
const MAX_EXCERPT = 1024;
/** Maximum bytes of a response body that are read. */
const MAX_READ_BYTES = 4096;
/** Maximum wait for the rest of a response after its status, in milliseconds. */
export const ANSWER_MS = 1_000;

export interface AttemptResult extends Attempt {
  /** The Retry-After of the receiver in milliseconds; null without one. */
  retryAfterMs: number | null;
  /** Whether the target is not allowed. */
  blocked: boolean;
}

interface AttemptOptions extends Pick<SendOptions, 'headers' | 'body' | 'connectTimeoutMs' | 'signal'> {
  url: string;
  timeoutMs: number;
}

/** Statuses with a Retry-After that is honoured. */
const RETRY_AFTER_STATUSES = new Set([429, 502, 503, 504]);

/** Whether the receiver answered 2xx. */
export const isSuccess = ({ statusCode }: AttemptResult): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

/** Makes one attempt. Never rejects: a failure is a result. */
export async function attempt(sending: AttemptOptions, { guard, clock, send }: Outgoing): Promise<AttemptResult> {
  const time = clock.now();
  const started = clock.monotonic();
  const done = (outcome: Partial<AttemptResult>): AttemptResult => ({
    at: time,
    durationMs: Math.round(clock.monotonic() - started),
    urlHost: URL.parse(sending.url)?.host ?? '',
    statusCode: null,
    error: null,
    excerpt: null,
    retryAfterMs: null,
    blocked: false,
    ...outcome,
  });
  try {
    const answer = await withTimeout({ ...sending, clock }, async (ending) => {
      const target = await checkedTarget(guard, sending.url, ending);
      const { headers, body, connectTimeoutMs } = sending;
      const limits = { connectTimeoutMs, answerMs: ANSWER_MS, maxBytes: MAX_READ_BYTES };
      return send({ ...target, ...limits, headers, body, signal: ending, clock });
    });
    // The status decides the result; the body is only for the delivery log.
    return done({
      statusCode: answer.status,
      excerpt: answer.body.toString().slice(0, MAX_EXCERPT),
      retryAfterMs: RETRY_AFTER_STATUSES.has(answer.status)
        ? retryAfter(answer.headers['retry-after'], clock.now())
        : null,
    });
  } catch (error) {
    if (error instanceof TargetRefused)
      return done({ error: `the URL is not allowed: ${error.message}`, blocked: true });
    return done({ error: failureReason(error) });
  }
}

/** The delivery as its headers identify it. */
export interface DeliveryIdentity extends Pick<Delivery, 'webhookId' | 'sequence' | 'attempts'> {
  queue: QueueName | 'test';
  reason: Reason | 'test';
}

interface RequestOptions extends Outgoing {
  secrets: SecretReader;
  rules: DeliveryRules;
  userAgent: string;
}

/**
 * Sends a body once; a failure is a result.
 * @param text JSON text of the body @param signal ends the request
 * @throws HookProblem before anything is sent, if the body can't be signed
 */
export type DeliveryRequest = (
  record: HookRecord,
  delivery: DeliveryIdentity,
  text: string,
  signal: AbortSignal,
) => Promise<AttemptResult>;

/** Makes the function that signs a delivery and posts it to its receiver. */
export function deliveryRequest(options: RequestOptions): DeliveryRequest {
  const { secrets, rules, userAgent, guard, clock, send } = options;
  const { timeoutMs, connectTimeoutMs } = rules;

  function headersOf(record: HookRecord, delivery: DeliveryIdentity, body: Uint8Array): Record<string, string> {
    const time = clock.now();
    return {
      'content-type': 'application/json',
      'user-agent': userAgent,
      'webhook-id': delivery.webhookId,
      'webhook-timestamp': String(Math.floor(time / 1000)),
      ...secretHeaders(secrets.find(record.consumer), delivery.webhookId, body, time),
      'x-chainhook-uuid': record.uuid,
      ...(delivery.queue === 'live' ? { 'x-chainhook-sequence': String(delivery.sequence) } : {}),
      'x-chainhook-reason': delivery.reason,
      'x-chainhook-attempt': String(delivery.attempts + 1),
    };
  }

  return async (record, delivery, text, signal) => {
    const { url } = parseDefinition(record).action;
    const body = Buffer.from(text);
    const headers = headersOf(record, delivery, body);
    return attempt({ url, headers, body, timeoutMs, connectTimeoutMs, signal }, { guard, clock, send });
  };
}
