import type { DeliveryBody } from '../store/hooks/model.ts';

/**
 * The id of a delivery: `evt_` and 32 hex digits. A delivery that is made anew has the id it had, and two bodies never
 * share one.
 *
 * @param source what the delivery belongs to, such as the hook's uuid and the delivery's sequence
 * @param body the JSON text that is sent
 */
export function webhookId(source: string, body: string | DeliveryBody): string {
  const hasher = new Bun.CryptoHasher('sha256').update(`${source}\n`);
  if (typeof body === 'string') hasher.update(body);
  else hasher.update(body.own).update(body.shared);
  return `evt_${hasher.digest('hex').slice(0, 32)}`;
}
