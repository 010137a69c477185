/**
 * Alerts: a POST to the operator's URL for each hook that ended. Alerts are sent one at a time, apart from the deliveries, so
 * that deliveries don't wait for alerts. Alerts are best effort, since the log and the hook's status show the same.
 */

import { pause } from '../../base/clock.ts';
import type { RandomSource } from '../../base/random.ts';
import type { Outgoing } from '../../http/outgoing.ts';
import type { HookStopped } from '../engine.ts';
import { webhookId } from '../evaluation/payload.ts';
import type { HookLog } from '../log-event.ts';
import { attempt, type DeliveryRules, failureOf, isSuccess, retryWait } from './attempt.ts';
import type { OpenedSecrets } from './sealing.ts';
import { signatureHeader } from './signature.ts';

const ATTEMPTS = 3;
/** Maximum waiting alerts; more are dropped, so that an unreachable receiver can't fill the memory. */
const MAX_WAITING = 1_000;

/** Options of {@link alerts}. */
interface AlertOptions extends Outgoing {
  url: string;
  secrets: OpenedSecrets;
  /** Identity of the log, in hex; part of the ids of alerts. */
  logIdentity: () => string;
  rules: DeliveryRules;
  log: HookLog;
  userAgent: string;
  random: RandomSource;
}

/** Sends alerts; before `start` it sends none. */
interface Alerts {
  /** Also starts again after `stop`. */
  start(): void;
  /** Queues an alert. */
  ended(end: HookStopped): void;
  /** Drops alerts that are not sent yet. */
  stop(): Promise<void>;
}

/** Sends no alerts, for operators without a URL. */
export const noAlerts: Alerts = { start() {}, ended() {}, async stop() {} };

/** Makes the sender of alerts, which tries each alert three times. */
export function alerts(options: AlertOptions): Alerts {
  const { url, secrets, logIdentity, guard, rules, log, userAgent, clock, send, random } = options;
  const { timeoutMs, connectTimeoutMs, retryCapMs } = rules;
  const waiting: HookStopped[] = [];
  /** Aborted by `stop`. */
  let stopping = new AbortController();
  stopping.abort();
  let working: Promise<void> | null = null;

  const failed = ({ uuid }: HookStopped, reason: string) => {
    log({ event: 'hook_alert_failed', uuid, host: URL.parse(url)?.host ?? '', reason });
  };

  async function sendAlert(end: HookStopped, signal: AbortSignal): Promise<void> {
    const { type, uuid, consumer, name, reason, at } = end;
    const text = JSON.stringify({ type, uuid, name, reason, at: Math.floor(at / 1000) });
    const body = Buffer.from(text);
    const id = webhookId(logIdentity(), `${uuid}/${type}/${random.uuid()}`, text);
    for (let tried = 1; !signal.aborted; tried++) {
      const time = clock.now();
      const headers = {
        'content-type': 'application/json',
        'user-agent': userAgent,
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(time / 1000)),
        // Without the secret itself, which is the consumer's, while this receiver is the operator's. An unsigned alert is better
        // than none.
        ...(secrets.isReadable(consumer) ? signatureHeader(secrets.find(consumer), id, body, time) : {}),
      };
      const result = await attempt({ url, headers, body, timeoutMs, connectTimeoutMs, signal }, { guard, clock, send });
      if (isSuccess(result) || signal.aborted) return;
      if (tried === ATTEMPTS) {
        failed(end, failureOf(result));
        return;
      }
      await pause(clock, retryWait(tried, retryCapMs, random.number), signal);
    }
  }

  async function work(): Promise<void> {
    const { signal } = stopping;
    // Let the caller finish first: the node waits for its answer.
    await clock.turn();
    for (let end = waiting.shift(); end !== undefined; end = signal.aborted ? undefined : waiting.shift()) {
      try {
        await sendAlert(end, signal);
      } catch (error) {
        log({ event: 'hook_task_failed', cause: error });
      }
    }
    working = null;
  }

  return {
    start() {
      stopping = new AbortController();
    },
    ended(end) {
      if (stopping.signal.aborted) return;
      if (waiting.length >= MAX_WAITING) {
        failed(end, 'too many wait');
        return;
      }
      waiting.push(end);
      working ??= work();
    },
    async stop() {
      stopping.abort();
      await working;
      waiting.length = 0;
    },
  };
}
