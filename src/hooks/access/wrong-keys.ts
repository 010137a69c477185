/**
 * Guesses at keys are slowed down: an address that sent some wrong keys has its next ones looked at only so often. One that
 * sent none is looked at in any case, so that nobody is locked out by the guesses of others.
 */
import { parseAddress, unmapped } from '../../http/ip-address.ts';
import type { HookLog } from '../log-event.ts';

interface Allowance {
  /** Wrong keys at once. */
  burst: number;
  /** Milliseconds until one more is allowed. */
  everyMs: number;
}
const EACH_ADDRESS: Allowance = { burst: 10, everyMs: 6_000 };
const ALL_ADDRESSES: Allowance = { burst: 100, everyMs: 600 };
/** Addresses that are remembered; beyond, the one that was wrong the longest time ago is forgotten. */
const MOST_ADDRESSES = 10_000;
const LOG_EVERY_MS = 60_000;
/** Bytes of an IPv6 address that name a network; whoever has one has all addresses of it. */
const NETWORK_BYTES = 8;

/** Fills by itself. Times are Unix milliseconds. */
class Bucket {
  /** Milliseconds that were waited and not used up. */
  #saved: number;
  #at: number;
  constructor(
    readonly allowance: Allowance,
    now: number,
  ) {
    this.#saved = allowance.burst * allowance.everyMs;
    this.#at = now;
  }

  #fill(now: number): number {
    const { burst, everyMs } = this.allowance;
    this.#saved = Math.min(burst * everyMs, this.#saved + Math.max(0, now - this.#at));
    this.#at = now;
    return this.#saved;
  }

  isFull(now: number): boolean {
    const { burst, everyMs } = this.allowance;
    return this.#fill(now) >= burst * everyMs;
  }

  /** Milliseconds until one may be taken. */
  wait(now: number): number {
    return Math.max(0, this.allowance.everyMs - this.#fill(now));
  }

  take(now: number): void {
    this.#saved = Math.max(0, this.#fill(now) - this.allowance.everyMs);
  }
}

/** Who counts as one: an IPv4 address, or a network of IPv6. */
function groupOf(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null) return address;
  const bytes = unmapped(parsed);
  return bytes.length === 4 ? bytes.join('.') : bytes.subarray(0, NETWORK_BYTES).toHex();
}

/** Counts wrong keys and slows down who sends them. */
export interface WrongKeys {
  /** Milliseconds until a key that could be guessed is looked at when it comes from this address; 0 for at once. */
  wait(address: string): number;
  /** A request with a wrong key came from this address, or with one that was not looked at. */
  count(address: string): void;
  /** How many came. */
  total(): number;
}

/** @param now Unix milliseconds */
export function wrongKeys(log: HookLog, now: () => number = Date.now): WrongKeys {
  const all = new Bucket(ALL_ADDRESSES, now());
  /** The one that was wrong the longest time ago first. */
  const each = new Map<string, Bucket>();
  let total = 0;
  let logged = { total: 0, at: Number.NEGATIVE_INFINITY };

  const waitOf = (own: Bucket, time: number): number =>
    own.isFull(time) ? 0 : Math.max(own.wait(time), all.wait(time));

  function report(address: string, time: number): void {
    if (time - logged.at < LOG_EVERY_MS) return;
    log({ event: 'hook_keys_refused', count: total - logged.total, address });
    logged = { total, at: time };
  }

  return {
    wait(address) {
      const time = now();
      const own = each.get(groupOf(address));
      return own === undefined ? 0 : waitOf(own, time);
    },
    count(address) {
      const time = now();
      const group = groupOf(address);
      const own = each.get(group) ?? new Bucket(EACH_ADDRESS, time);
      // A flood that isn't looked at takes nothing: a right key among it has its turn.
      if (waitOf(own, time) === 0) {
        own.take(time);
        all.take(time);
      }
      each.delete(group);
      each.set(group, own);
      const [oldest] = each.keys();
      if (each.size > MOST_ADDRESSES && oldest !== undefined) each.delete(oldest);
      total += 1;
      report(address, time);
    },
    total: () => total,
  };
}
