/** Signatures of deliveries, as Standard Webhooks has them (standardwebhooks.com). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../../store/hooks/model.ts';

/** Bytes of a secret. */
const SECRET_BYTES = 32;
/** How long a replaced secret signs beside the new one, in milliseconds. */
const OVERLAP_MS = 24 * 3600 * 1000;

/** A new signing secret of random bytes. */
export const newSecret = (): Uint8Array => crypto.getRandomValues(new Uint8Array(SECRET_BYTES));

/** The form that Standard Webhooks libraries take a secret in. */
export const signingSecret = (secret: Uint8Array): string => `whsec_${secret.toBase64()}`;

/** HMAC-SHA256 over id, time and the exact bytes of the body. @param timestamp Unix seconds */
function signature(secret: Uint8Array, id: string, timestamp: number, body: Uint8Array): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

type Headers = Record<string, string>;

/**
 * What shows who has the secret that a body is ours; nothing where there is none.
 * @param now Unix milliseconds
 */
export function signatureHeader(secrets: Secrets | undefined, id: string, body: Uint8Array, now: number): Headers {
  if (secrets === undefined) return {};
  const { secret, previous, rotatedAt } = secrets;
  const timestamp = Math.floor(now / 1000);
  const signing = previous !== null && now - rotatedAt < OVERLAP_MS ? [secret, previous] : [secret];
  return { 'webhook-signature': signing.map((one) => signature(one, id, timestamp, body)).join(' ') };
}

/**
 * What shows a consumer's receiver that a delivery is ours: the signature and the secret itself.
 * @param now Unix milliseconds
 */
export function secretHeaders(secrets: Secrets | undefined, id: string, body: Uint8Array, now: number): Headers {
  if (secrets === undefined) return {};
  const secret = secrets.secret.toHex();
  return {
    authorization: `Bearer ${secret}`,
    'x-chainhook-consumer-secret': secret,
    ...signatureHeader(secrets, id, body, now),
  };
}

/** Seconds that the time of a delivery may differ from the receiver's. */
const TOLERANCE = 5 * 60;

/**
 * Whether a delivery was signed with a secret a short time ago, as receivers check it.
 * @param now Unix milliseconds
 */
export function verified(secret: Uint8Array, given: globalThis.Headers, body: string, now: number): boolean {
  const [id, time] = [given.get('webhook-id') ?? '', given.get('webhook-timestamp') ?? ''];
  if (!/^\d+$/.test(time) || Math.abs(now / 1000 - Number(time)) > TOLERANCE) return false;
  const expected = Buffer.from(signature(secret, id, Number(time), Buffer.from(body)));
  return (given.get('webhook-signature') ?? '').split(' ').some((one) => {
    const found = Buffer.from(one);
    return found.length === expected.length && timingSafeEqual(found, expected);
  });
}
