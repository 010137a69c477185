/**
 * Who asks, and the keys that say so. Keys of consumers are in a file of the operator's, and what memory has of one is its
 * digest. The operator's own key, the admin key, is made in the data directory by the first start, and the command line reads
 * it there: whoever may read that directory has the index anyway. An operator may name a file in its place, since hosts behind
 * a balancer need the same key.
 */

import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lruCache } from '../../base/cache.ts';
import { OperatorError } from '../../base/errors.ts';
import { MADE_BYTES, madeSecret, secretFileText, storedSecret } from '../../base/files.ts';
import { parseAddress, unmapped } from '../../http/hosts.ts';
import type { HookLog } from '../log-event.ts';

/** Who asks. */
export interface Caller {
  consumer: string;
  /** Acts for every consumer. */
  isOperator: boolean;
}

/** Who has the admin key, with the consumer whose hooks are the operator's own. */
export const OPERATOR: Caller = { consumer: 'default', isOperator: true };

/** A key that manages the hooks of one consumer. */
export interface Key {
  /** SHA-256: whatever is compared has the same length. */
  digest: Uint8Array;
  consumer: string;
}

const digestOf = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest();

/** A key by its text, which is stored as a digest alone. */
export const keyOf = (consumer: string, text: string): Key => ({ consumer, digest: digestOf(text) });

/** The key that a text is, in a time that doesn't depend on the keys; undefined where it is none of them. */
export function findKey<K extends Key>(keys: readonly K[], text: string): K | undefined {
  const digest = digestOf(text);
  let found: K | undefined;
  for (const key of keys) if (timingSafeEqual(key.digest, digest)) found = key;
  return found;
}

/**
 * The keys of a file: a line for each, consumer and key; the key may be given as `sha256:` and its digest in hex. Empty
 * lines and those that begin with # don't count.
 * @throws OperatorError naming the line
 */
export function readKeys(text: string, file: string): Key[] {
  const keys: Key[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const [consumer, key, ...more] = trimmed.split(/\s+/);
    if (consumer === undefined || key === undefined || more.length > 0 || key.length < 8) {
      throw new OperatorError(
        `Line ${index + 1} of ${file} is not a consumer and a key.`,
        'Write the name of a consumer, a blank, and a key of at least 8 characters in each line.',
      );
    }
    const hashed = /^sha256:([0-9a-f]{64})$/i.exec(key)?.[1];
    keys.push(hashed === undefined ? keyOf(consumer, key) : { consumer, digest: Uint8Array.fromHex(hashed) });
  }
  if (keys.length === 0) throw new OperatorError(`${file} has no keys.`, 'Add a key, or omit --hook-keys.');
  return keys;
}

/** @throws OperatorError where the file can't be read */
export function keysOf(file: string): Key[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${file} can't be read.`, 'Check --hook-keys.', { cause });
  }
  return readKeys(text, file);
}

/** The admin key, in hex. */
const ADMIN = /^[0-9a-f]{64}$/;

/** The name of the file in a data directory that holds the admin key. */
export const ADMIN_KEY = 'admin.key';

/** Path of the file in a data directory that holds the admin key. */
export const adminKeyFile = (directory: string): string => join(directory, ADMIN_KEY);

/**
 * The admin key of a data directory, null where there is none.
 * @throws OperatorError where the file can't be read, or holds no key
 */
export function readAdminKey(directory: string): string | null {
  const file = adminKeyFile(directory);
  const key = storedSecret(file);
  if (key === null || ADMIN.test(key)) return key;
  throw new OperatorError(
    `${file} is damaged: it holds no admin key.`,
    'Delete the file; the next start of stackside serve creates another key.',
  );
}

/**
 * The admin key in a file that the operator named, and made.
 * @throws OperatorError where it can't be read, every user may read it, or it holds no key
 */
export function namedAdminKey(file: string): string {
  const key = secretFileText(file, '--admin-key');
  if (ADMIN.test(key)) return key;
  throw new OperatorError(
    `${file} holds no admin key, which has ${2 * MADE_BYTES} hex digits in lower case.`,
    `Make one with (umask 077; openssl rand -hex ${MADE_BYTES} > FILE), and give --admin-key the same file on all hosts.`,
  );
}

/**
 * The admin key of a data directory, made where there is none. For the process that holds the directory's lock.
 * @throws OperatorError where the file can't be read or written, or holds no key
 */
export const adminKeyOf = (directory: string): string => readAdminKey(directory) ?? madeSecret(adminKeyFile(directory));

/**
 * Guesses at keys are slowed down: an address that sent some wrong keys has its next ones looked at only so often. One that
 * sent none is looked at in any case, so that nobody is locked out by the guesses of others.
 */
interface Allowance {
  /** Wrong keys at once. */
  burst: number;
  /** Milliseconds until one more is allowed. */
  everyMs: number;
}
const EACH_ADDRESS: Allowance = { burst: 10, everyMs: 6_000 };
const ALL_ADDRESSES: Allowance = { burst: 100, everyMs: 600 };
/** Addresses whose wrong keys are counted: the last 10,000 at least, since a cache evicts half of its capacity at once. */
const MOST_ADDRESSES = 20_000;
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
  const each = lruCache<string, Bucket>(MOST_ADDRESSES);
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
      each.set(group, own, 1);
      total += 1;
      report(address, time);
    },
    total: () => total,
  };
}
