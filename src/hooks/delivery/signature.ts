/** Signatures of deliveries by the Standard Webhooks specification (standardwebhooks.com). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../../store/hooks/model.ts';

const SECRET_BYTES = 32;
/** Milliseconds in which both a replaced secret and the new one sign. */
const OVERLAP_MS = 24 * 3600 * 1000;

/** A new signing secret of random bytes. */
export const newSecret = (): Uint8Array => crypto.getRandomValues(new Uint8Array(SECRET_BYTES));

/** A secret as text for Standard Webhooks libraries. */
export const signingSecret = (secret: Uint8Array): string => `whsec_${secret.toBase64()}`;

/** HMAC-SHA256 over id, time and the exact bytes of the body. @param timestamp Unix seconds */
function signature(secret: Uint8Array, id: string, timestamp: number, body: Uint8Array): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

type Headers = Record<string, string>;

/**
 * The headers with the signatures of a body; none without a secret.
 * @param now Unix milliseconds
 */
export function signatureHeader(secrets: Secrets | undefined, id: string, body: Uint8Array, now: number): Headers {
  if (secrets === undefined) return {};
  const { secret, previous, rotatedAt } = secrets;
  const timestamp = Math.floor(now / 1000);
  const signing = previous !== null && now - rotatedAt < OVERLAP_MS ? [secret, previous] : [secret];
  return { 'webhook-signature': signing.map((key) => signature(key, id, timestamp, body)).join(' ') };
}

/**
 * The headers for a consumer's receiver: the signatures, and the secret itself.
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

/** Maximum difference between a delivery's time and the receiver's, in seconds. */
const TOLERANCE = 5 * 60;

/**
 * Verifies the signature and time of a delivery, as receivers do.
 * @param now Unix milliseconds
 */
export function verifySignature(secret: Uint8Array, headers: globalThis.Headers, body: string, now: number): boolean {
  const [id, time] = [headers.get('webhook-id') ?? '', headers.get('webhook-timestamp') ?? ''];
  if (!/^\d+$/.test(time) || Math.abs(now / 1000 - Number(time)) > TOLERANCE) return false;
  const expected = Buffer.from(signature(secret, id, Number(time), Buffer.from(body)));
  return (headers.get('webhook-signature') ?? '').split(' ').some((text) => {
    const bytes = Buffer.from(text);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
}
