/**
 * Alerts: a POST to the operator's URL and to the hook's `alert_url` for each hook that stopped. The operator and each consumer
 * have a queue, so that they don't wait for each other's receivers, and deliveries wait for no alert. Alerts are best effort,
 * since the log and the hook's status show the same.
 */

import { pause, type RandomSource } from '../../base/clock.ts';
import { countWork } from '../../base/turns.ts';
import type { Outgoing } from '../../http/outgoing.ts';
import type { HookStopped } from '../engine.ts';
import { webhookId } from '../evaluation/payload.ts';
import type { HookLog } from '../reporting.ts';
import { attempt, type DeliveryRules, isSuccess, retryWait } from './attempt.ts';
import { failureOf } from './failure.ts';
import type { SecretReader } from './sealing.ts';
import { signatureHeader } from './signature.ts';

const ATTEMPTS = 3;
/** Maximum unsent alerts of a queue; more are dropped, so that an unreachable receiver can't fill the memory. */
const MAX_UNSENT = 1_000;

interface Alert {
  url: string;
  stop: HookStopped;
}

interface AlertOptions extends Outgoing {
  /** URL of the operator; null for alerts to the owners of hooks only. */
  url: string | null;
  secrets: SecretReader;
  /** Identity of the log, in hex; part of the ids of alerts. */
  logIdentity: () => string;
  rules: DeliveryRules;
  log: HookLog;
  userAgent: string;
  random: RandomSource;
}

/** Makes the sender of alerts, which tries each alert three times. Before `start` it sends none. */
export function alerts(options: AlertOptions) {
  const { url: operatorUrl, secrets, logIdentity, guard, rules, log, userAgent, clock, send, random } = options;
  const { timeoutMs, connectTimeoutMs, retryCapMs } = rules;
  /** The last alert of each queue, and the number of its unsent alerts. */
  const queues = new Map<string, Promise<void>>();
  const unsent = countWork();
  /** Aborted before `start` and by `stop`. */
  let stopping = new AbortController();
  stopping.abort();

  const logFailure = ({ url, stop: { uuid } }: Alert, reason: string) => {
    log({ event: 'hook_alert_failed', uuid, host: URL.parse(url)?.host ?? '', reason });
  };

  async function sendAlert({ url, stop }: Alert, signal: AbortSignal): Promise<void> {
    const { type, uuid, consumer, name, reason, stoppedAt } = stop;
    const text = JSON.stringify({ type, uuid, consumer, name, reason, at: Math.floor(stoppedAt / 1000) });
    const body = Buffer.from(text);
    const id = webhookId(logIdentity(), `${uuid}/${type}/${random.uuid()}`, text);
    for (let attempts = 1; !signal.aborted; attempts++) {
      const time = clock.now();
      const headers = {
        'content-type': 'application/json',
        'user-agent': userAgent,
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(time / 1000)),
        // Without the secret itself, which is the consumer's, while this receiver may be the operator's. An unsigned alert is
        // better than none.
        ...(secrets.isReadable(consumer) ? signatureHeader(secrets.find(consumer), id, body, time) : {}),
      };
      const result = await attempt({ url, headers, body, timeoutMs, connectTimeoutMs, signal }, { guard, clock, send });
      if (isSuccess(result) || signal.aborted) return;
      if (attempts === ATTEMPTS) {
        logFailure({ url, stop }, failureOf(result));
        return;
      }
      await pause(clock, retryWait(attempts, retryCapMs, random.number), signal);
    }
  }

  function add(queue: string, alert: Alert): void {
    if (unsent.of(queue) === MAX_UNSENT) {
      logFailure(alert, 'too many wait');
      return;
    }
    const end = unsent.begin(queue);
    const { signal } = stopping;
    // A turn lets the caller finish first: the node waits for its answer.
    const task = (queues.get(queue) ?? clock.turn())
      .then(() => sendAlert(alert, signal))
      .catch((cause: unknown) => log({ event: 'unexpected_error', part: 'chainhook', cause }))
      .finally(() => {
        end();
        if (queues.get(queue) === task) queues.delete(queue);
      });
    queues.set(queue, task);
  }

  return {
    /** Also starts again after `stop`. */
    start(): void {
      stopping = new AbortController();
    },
    hookStopped(stop: HookStopped): void {
      if (stopping.signal.aborted) return;
      if (operatorUrl !== null) add('operator', { url: operatorUrl, stop });
      if (stop.alertUrl !== null) add(`consumer ${stop.consumer}`, { url: stop.alertUrl, stop });
    },
    /** Drops alerts that are not sent yet. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(queues.values());
    },
  };
}
