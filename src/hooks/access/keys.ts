/**
 * Callers and their API keys. A file of the operator has the consumers' keys; memory has only their digests. The first start
 * creates the admin key in the data directory. The command line reads it there: anybody who can read that directory has the
 * index anyway. Hosts behind a load balancer need the same admin key, so the operator may name a file instead.
 */

import { timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { lruCache } from '../../base/cache.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { createSecret, fileText, SECRET_BYTES, secretFileText, storedSecret } from '../../base/files.ts';
import { digestOfKey, keyLines } from '../../base/key-file.ts';
import { addressGroup } from '../../http/hosts.ts';
import type { HookLog } from '../reporting.ts';

export interface Caller {
  consumer: string;
  /** The operator acts for every consumer. */
  isOperator: boolean;
}

/** The caller with the admin key; `consumer` has the operator's own hooks. */
export const OPERATOR: Caller = { consumer: 'default', isOperator: true };

export interface Key {
  /** SHA-256, so that all compared values have the same length. */
  digest: Uint8Array;
  consumer: string;
}

/** Makes a key of its text; only the digest is stored. */
export const keyOf = (consumer: string, text: string): Key => ({ consumer, digest: digestOfKey(text) });

/** Finds a key by its text in constant time; undefined for an unknown key. */
export function findKey<K extends Key>(keys: readonly K[], text: string): K | undefined {
  const digest = digestOfKey(text);
  let match: K | undefined;
  for (const key of keys) if (timingSafeEqual(key.digest, digest)) match = key;
  return match;
}

/** Reads the text of a file of consumers' keys. @throws OperatorError naming the line */
export function readKeys(text: string, file: string): Key[] {
  const keys = keyLines(text, file, 'a consumer and a key').map(({ name, digest }) => ({ consumer: name, digest }));
  if (keys.length === 0) throw new OperatorError(`${file} has no keys.`, 'Add a key, or omit --hook-keys.');
  return keys;
}

/** Reads the keys of a file. @throws OperatorError if the file can't be read */
export const keysOf = (file: string): Key[] => readKeys(fileText(file, 'Check --hook-keys.'), file);

const ADMIN_KEY_PATTERN = /^[0-9a-f]{64}$/;

/** The name of the file in a data directory that holds the admin key. */
export const ADMIN_KEY = 'admin.key';

/** Path of the file in a data directory that holds the admin key. */
export const adminKeyFile = (directory: string): string => join(directory, ADMIN_KEY);

/**
 * Reads the admin key of a data directory; null if there is none.
 * @throws OperatorError if the file can't be read or lacks a key
 */
export function readAdminKey(directory: string): string | null {
  const file = adminKeyFile(directory);
  const key = storedSecret(file);
  if (key === null || ADMIN_KEY_PATTERN.test(key)) return key;
  throw new OperatorError(
    `${file} is damaged: it holds no admin key.`,
    'Delete the file; the next start of stackside serve creates another key.',
  );
}

/**
 * Reads the admin key in the file that the operator named.
 * @throws OperatorError if the file can't be read, if every user may read it, or if it lacks a key
 */
export function namedAdminKey(file: string): string {
  const key = secretFileText(file, '--admin-key');
  if (ADMIN_KEY_PATTERN.test(key)) return key;
  throw new OperatorError(
    `${file} holds no admin key, which has ${2 * SECRET_BYTES} hex digits in lower case.`,
    `Make one with (umask 077; openssl rand -hex ${SECRET_BYTES} > FILE), and give --admin-key the same file on all hosts.`,
  );
}

/**
 * Returns the admin key of a data directory; makes one if there is none. Only for the process that has the directory's lock.
 * @param created called with the file if a key is made
 * @throws OperatorError if the file can't be read or written, or lacks a key
 */
export const adminKeyOf = (directory: string, created?: (file: string) => void): string =>
  readAdminKey(directory) ?? createSecret(adminKeyFile(directory), created);

/**
 * Rate limit for wrong keys. Once an address has sent some wrong keys, its further keys are checked only so often. Keys from an
 * address without wrong keys are always checked, so that one client's guesses don't lock out others. A limit allows some wrong
 * keys at once, and one more after some milliseconds each.
 */
const EACH_ADDRESS = { burst: 10, everyMs: 6_000 };
const ALL_ADDRESSES = { burst: 100, everyMs: 600 };
type Limit = typeof EACH_ADDRESS;

/** Returns the time at which a limit is unused again, after another wrong key. @param fullAt this time before the key */
const oneLess = ({ burst, everyMs }: Limit, fullAt: number, now: number): number =>
  now + Math.min(burst * everyMs, Math.max(0, fullAt - now) + everyMs);

/** Milliseconds until a limit allows a wrong key. @param fullAt time at which the limit is unused again */
const waitFor = ({ burst, everyMs }: Limit, fullAt: number, now: number): number =>
  Math.max(0, fullAt - now - (burst - 1) * everyMs);

/** Capacity of the cache of addresses with wrong keys. The cache evicts half at once, so it has the last 10,000 at least. */
const MAX_ADDRESSES = 20_000;
const LOG_EVERY_MS = 60_000;

/** Counts wrong keys, and slows down the addresses that send them. Setting the wall clock back must not prolong a wait. */
export function wrongKeys(log: HookLog, { monotonic }: Pick<Clock, 'monotonic'> = systemClock) {
  /** The time when the limit of all addresses is unused again; `fullAt` has that of each address. */
  let allFullAt = 0;
  const fullAt = lruCache<string, number>(MAX_ADDRESSES);
  let total = 0;
  let logged = { total: 0, time: Number.NEGATIVE_INFINITY };

  function waitOf(group: string, time: number): number {
    const full = fullAt.get(group) ?? 0;
    if (full <= time) return 0;
    return Math.max(waitFor(EACH_ADDRESS, full, time), waitFor(ALL_ADDRESSES, allFullAt, time));
  }

  function report(address: string, time: number): void {
    if (time - logged.time < LOG_EVERY_MS) return;
    log({ event: 'hook_keys_refused', count: total - logged.total, address });
    logged = { total, time };
  }

  return {
    /** Milliseconds until a guessable key from this address is checked; 0 for at once. */
    wait: (address: string): number => waitOf(addressGroup(address), monotonic()),
    /** Counts a request from this address with a wrong or unchecked key. */
    count(address: string): void {
      const time = monotonic();
      const group = addressGroup(address);
      // Unchecked keys don't count for the limits, so that a right key gets its turn during a flood.
      if (waitOf(group, time) === 0) {
        fullAt.set(group, oneLess(EACH_ADDRESS, fullAt.get(group) ?? 0, time), 1);
        allFullAt = oneLess(ALL_ADDRESSES, allFullAt, time);
      }
      total += 1;
      report(address, time);
    },
    /** Number of wrong or unchecked keys so far. */
    total: (): number => total,
  };
}
export type WrongKeys = ReturnType<typeof wrongKeys>;
