/** The request of a delivery: its headers, signed with the secret of this moment, to the URL of this moment. */
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { Lane, Reason } from '../../store/rows/hook-words.ts';
import { definitionOf } from '../active-hook.ts';
import { attempt, type Outgoing, type Result } from './attempt.ts';
import type { DeliveryRules } from './rules.ts';
import type { OpenedSecrets } from './sealing.ts';
import { secretHeaders } from './signature.ts';

/** What the headers say of a delivery. */
export interface DeliveryIdentity extends Pick<Delivery, 'webhookId' | 'sequence' | 'attempts'> {
  lane: Lane | 'test';
  reason: Reason | 'test';
}

export interface RequestOptions extends Outgoing {
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
) => Promise<Result>;

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
      ...(delivery.lane === 'live' ? { 'x-chainhook-sequence': String(delivery.sequence) } : {}),
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
