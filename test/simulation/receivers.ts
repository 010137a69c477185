/** Receivers of deliveries and the network between: the requests of each receiver, and its answers. */

import { createHmac } from 'node:crypto';
import type { Prng } from '../../src/devnet/prng.ts';
import type { Answer, SendOptions } from '../../src/http/outgoing.ts';
import type { World } from './world.ts';

/** Outcome of a request. */
export type Fate = 'accepted' | 'error' | 'busy' | 'refused' | 'reset' | 'mute' | 'gone';

/** Behaviour of a receiver for some time. */
export type Mood = 'well' | 'moody' | 'down' | 'gone';

const fates: Readonly<Record<Mood, readonly (readonly [number, Fate])[]>> = {
  well: [[1, 'accepted']],
  moody: [
    [10, 'accepted'],
    [2, 'error'],
    [2, 'busy'],
    [2, 'refused'],
    [3, 'reset'],
    [1, 'mute'],
  ],
  down: [
    [3, 'refused'],
    [1, 'error'],
  ],
  gone: [[1, 'gone']],
};

/** Milliseconds that a request takes to arrive, at most. */
export const SLOWEST = 400;

/** A request as it arrived. */
export interface Arrived {
  hook: string;
  id: string;
  /** Sequence number in the live queue; null in other queues. */
  sequence: number | null;
  reason: string;
  text: string;
  /** Time of arrival, in milliseconds of the world. */
  time: number;
  /** The secret that the request carries; null if the request isn't signed. */
  secret: string | null;
  /** Whether its signature is made with that secret. */
  isSigned: boolean;
  /** Whether the receiver accepted the request. The sender may not have learned this. */
  accepted: boolean;
}

const statuses = { accepted: 200, error: 500, busy: 429, gone: 410 } as const;

/** Whether the first signature is made with the secret that a request carries. */
function isSigned(headers: Record<string, string>, text: string): boolean {
  const secret = headers['x-chainhook-consumer-secret'];
  if (secret === undefined) return false;
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  const expected = createHmac('sha256', Buffer.from(secret, 'hex')).update(signed).digest('base64');
  return headers['webhook-signature']?.split(' ')[0] === `v1,${expected}`;
}

export class Receivers {
  readonly arrived: Arrived[] = [];
  readonly #world: World;
  readonly #prng: Prng;
  readonly #moods = new Map<string, Mood>();
  #calm = false;
  #atNext: (() => void) | null = null;

  constructor(world: World) {
    this.#world = world;
    this.#prng = world.prng('receivers');
  }

  setMood(path: string, mood: Mood): void {
    this.#moods.set(path, mood);
  }

  /** Calls a function when the next request arrives. */
  atNext(call: () => void): void {
    this.#atNext = call;
  }

  /** From now on, every receiver accepts its requests. */
  calm(): void {
    this.#atNext = null;
    this.#calm = true;
  }

  /** Carries a request there and its answer back. */
  answer({ url, headers, body, signal }: SendOptions): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const text = Buffer.from(body ?? []).toString();
    const mood = this.#calm ? 'well' : (this.#moods.get(url.pathname) ?? 'moody');
    const fate = this.#prng.weighted(fates[mood]);
    signal.addEventListener('abort', () => reject(new Error('the attempt was ended')), { once: true });
    this.#world.after(this.#delay(), () => {
      if (fate === 'refused') return reject(new Error('ECONNREFUSED'));
      this.#arrive(headers, text, fate);
      this.#world.after(this.#delay(), () => {
        if (fate === 'mute') return;
        if (fate === 'reset') return reject(new Error('ECONNRESET'));
        const headers = fate === 'busy' ? { 'retry-after': '1' } : {};
        resolve({ status: statuses[fate], headers, body: Buffer.alloc(0) });
      });
    });
    return promise;
  }

  #delay(): number {
    return this.#prng.chance(0.8) ? this.#prng.below(20) : this.#prng.below(SLOWEST);
  }

  #arrive(headers: Record<string, string>, text: string, fate: Fate): void {
    const header = (name: string): string => headers[name] ?? '';
    const sequence = header('x-chainhook-sequence');
    this.arrived.push({
      hook: header('x-chainhook-uuid'),
      id: header('webhook-id'),
      sequence: sequence === '' ? null : Number(sequence),
      reason: header('x-chainhook-reason'),
      text,
      time: this.#world.time,
      secret: headers['x-chainhook-consumer-secret'] ?? null,
      isSigned: isSigned(headers, text),
      // After a reset some receivers have it and some don't.
      accepted: fate === 'accepted',
    });
    this.#world.note(`arrived ${header('webhook-id')} ${sequence} ${fate}`);
    this.#atNext?.();
    this.#atNext = null;
  }
}
