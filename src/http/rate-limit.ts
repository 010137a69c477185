/**
 * Rate limits of clients: each address and each key may send a number of requests a minute. Expensive requests count as
 * several. All threads of a process share the counts. Their memory has a fixed size, even if a client has many addresses.
 */
import { OperatorError } from '../base/errors.ts';
import { fileText } from '../base/files.ts';
import { digestOfKey, type KeyLine, keyLines, wrongLine } from '../base/key-file.ts';
import { ApiError } from './errors.ts';
import { addressGroup, providerNetwork } from './hosts.ts';

export interface ReadKey {
  name: string;
  /** SHA-256 of the key. */
  digest: Uint8Array;
  /** Requests a minute; null for the default limit. */
  perMinute: number | null;
}

export const MAX_PER_MINUTE = 100_000;
const KEY_FORMAT = 'a name, a key, and optionally the requests per minute of this key';

function parseReadKey({ line, name, digest, rest: [limit] }: KeyLine, file: string): ReadKey {
  if (limit === undefined) return { name, digest, perMinute: null };
  const perMinute = /^[1-9]\d{0,6}$/.test(limit) ? Number(limit) : Number.NaN;
  if (!(perMinute <= MAX_PER_MINUTE)) throw wrongLine(line, file, KEY_FORMAT);
  return { name, digest, perMinute };
}

/** Reads the keys of a file's text. @throws OperatorError naming the line that is invalid or repeats a key */
export const readKeysIn = (text: string, file: string): ReadKey[] =>
  keyLines(text, file, KEY_FORMAT, 1).map((parsed) => parseReadKey(parsed, file));

/**
 * Reads the keys of a file.
 * @param file null for no keys
 * @param perMinute of clients without a key; 0: only keys may read
 * @throws OperatorError if the file can't be read, for an invalid line, or if nobody could read
 */
export function readKeysOf(file: string | null, perMinute: number | null): ReadKey[] {
  const keys = file === null ? [] : readKeysIn(fileText(file, 'Check --read-keys.'), file);
  if (keys.length > 0 || perMinute !== 0) return keys;
  if (file === null) {
    throw new OperatorError('--rate-limit 0 requires read keys.', 'Set --read-keys, or raise or omit --rate-limit.');
  }
  throw new OperatorError(`${file} has no keys, and --rate-limit 0 requires one.`, 'Add a key, or raise --rate-limit.');
}

interface Client {
  /** Name of the client's key; null for an address. */
  key: string | null;
  id: string;
  /** Clients of one network share a limit while the table is full. */
  network: string;
  /** Requests a minute; null if unlimited. */
  perMinute: number | null;
}

type LimitedClient = Pick<Client, 'id' | 'network'> & { perMinute: number };

export interface Quota {
  isAllowed: boolean;
  perMinute: number;
  /** Requests that the client may send now. */
  remaining: number;
  /** Seconds until the full quota is available. */
  reset: number;
  /** Seconds until the request is allowed; 0 if it is allowed now. */
  retryAfter: number;
}

/** Slots of the table: clients that are counted at the same time. */
const SLOTS = 1 << 17;
/** Number of slots for networks. They follow the slots of clients. */
const NETWORK_SLOTS = 1 << 14;
/** Number of slots that are tried for a client. */
const PROBES = 8;
/** Attempts to change a slot while other threads change it. */
const ATTEMPTS = 4;
const BYTES_OF_A_SLOT = 8;
/** Milliseconds by which a clock may be set back without a loss of the counts. */
const SET_BACK_MS = 30 * 86_400_000;
/** Indexes of the seed, of the moment that times count from, and of the first slot. The seed hides which clients share slots. */
const [SEED, EPOCH, FIRST] = [0, 1, 2];

/** A slot has a fingerprint of the client in its high bits, and a time in its low ones: 46 bits of 1/1024 ms are two years. */
const TIME_BITS = 46n;
const TIME_MASK = (1n << TIME_BITS) - 1n;
const TICKS_A_MS = 1_024;
const TICKS_A_MINUTE = 60_000 * TICKS_A_MS;
const TICKS_A_SECOND = 1_000 * TICKS_A_MS;

/** Returns the ticks until the time of a slot; 0 if it has passed, or if it is from before the clock was set back. */
function aheadOf(slot: bigint, now: number): number {
  const ahead = Number(slot & TIME_MASK) - now;
  return ahead > 0 && ahead <= TICKS_A_MINUTE ? ahead : 0;
}

/**
 * Stores per client the time at which its quota is full (the generic cell rate algorithm, ITU-T I.371). A request moves that
 * time by its share of a minute, and is refused if the time would be more than a minute ahead. A slot whose time has passed is
 * free.
 */
export class RateTable {
  readonly #slots: BigInt64Array;
  readonly #seed: bigint;
  readonly #epoch: number;
  readonly #now: () => number;

  /**
   * @param memory as {@link RateTable.memory} makes it; threads share it
   * @param now Unix milliseconds
   */
  constructor(memory: SharedArrayBuffer, now: () => number) {
    this.#slots = new BigInt64Array(memory);
    this.#seed = this.#slots[SEED]!;
    this.#epoch = Number(this.#slots[EPOCH]!);
    this.#now = now;
  }

  /** Memory without counts. @param now Unix milliseconds */
  static memory(now: number): SharedArrayBuffer {
    const memory = new SharedArrayBuffer((FIRST + SLOTS + NETWORK_SLOTS) * BYTES_OF_A_SLOT);
    const slots = new BigInt64Array(memory);
    slots[SEED] = BigInt.asIntN(64, crypto.getRandomValues(new BigUint64Array(1))[0]!);
    slots[EPOCH] = BigInt(Math.floor(now) - SET_BACK_MS);
    return memory;
  }

  #hashOf(text: string): { low: number; fingerprint: bigint } {
    const hash = BigInt.asIntN(64, Bun.hash.wyhash(text, this.#seed));
    return { low: Number(BigInt.asUintN(32, hash)), fingerprint: hash >> TIME_BITS };
  }

  /**
   * Returns the slot of a client: the one that it has, else a free one, else the slot of its network. A network with more
   * addresses than there are slots therefore doesn't use up the quota of clients in other networks.
   */
  #slotOf(low: number, fingerprint: bigint, network: string, now: number): number {
    let free = -1;
    for (let probe = 0; probe < PROBES; probe++) {
      const index = FIRST + ((low + probe) % SLOTS);
      const slot = Atomics.load(this.#slots, index);
      const ahead = aheadOf(slot, now);
      if (ahead > 0 && slot >> TIME_BITS === fingerprint) return index;
      if (ahead === 0 && free < 0) free = index;
    }
    return free >= 0 ? free : FIRST + SLOTS + (this.#hashOf(network).low % NETWORK_SLOTS);
  }

  /** Counts a request. @param cost requests that it counts as */
  charge({ id, network, perMinute }: LimitedClient, cost: number): Quota {
    const now = Math.max(0, Math.floor((this.#now() - this.#epoch) * TICKS_A_MS));
    const { low, fingerprint } = this.#hashOf(id);
    const share = TICKS_A_MINUTE / perMinute;
    // A request that costs more than the quota is allowed after a pause of a minute.
    const tokens = Math.ceil(Math.min(cost, perMinute) * share);
    const quota = (ahead: number, isAllowed: boolean): Quota => ({
      isAllowed,
      perMinute,
      remaining: Math.floor(Math.max(0, TICKS_A_MINUTE - ahead) / share),
      reset: Math.ceil(ahead / TICKS_A_SECOND),
      retryAfter: isAllowed ? 0 : Math.max(1, Math.ceil((ahead + tokens - TICKS_A_MINUTE) / TICKS_A_SECOND)),
    });
    for (let attempt = 0; ; attempt++) {
      const index = this.#slotOf(low, fingerprint, network, now);
      const slot = Atomics.load(this.#slots, index);
      const ahead = aheadOf(slot, now);
      const next = ahead + tokens;
      if (next > TICKS_A_MINUTE) return quota(ahead, false);
      const changed = (fingerprint << TIME_BITS) | BigInt(now + next);
      const isChanged = Atomics.compareExchange(this.#slots, index, slot, changed) === slot;
      if (isChanged || attempt === ATTEMPTS) return quota(next, true);
    }
  }
}

export interface RateLimitMetrics {
  /** @param key name of the client's key; null for an address */
  counted(key: string | null, isAllowed: boolean): void;
}

export interface RateLimiterOptions {
  /** Requests a minute of an address, and of a key without another limit. 0: only keys may read. Null: unlimited. */
  perMinute: number | null;
  keys: readonly ReadKey[];
  table: RateTable;
  metrics: RateLimitMetrics;
}

/** Names of the limits in `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
const policyOf = ({ key }: Client): string => (key === null ? '"address"' : '"key"');

const quotaHeaders = (client: Client, { perMinute, remaining, reset }: Quota): Record<string, string> => ({
  'ratelimit-policy': `${policyOf(client)};q=${perMinute};w=60`,
  ratelimit: `${policyOf(client)};r=${remaining};t=${reset}`,
});

const BEARER = /^Bearer\s+(\S+)$/i;

export type RateLimiter = ReturnType<typeof rateLimiter>;

/** Counts the requests of clients, and refuses those beyond their limits. */
export function rateLimiter({ perMinute, keys, table, metrics }: RateLimiterOptions) {
  const byDigest = new Map(keys.map((key) => [key.digest.toHex(), key]));

  /** The read key of a request. Another key is ignored: it may be for chainhooks or for the node. */
  function keyIn(headers: Headers): ReadKey | undefined {
    if (byDigest.size === 0) return undefined;
    const text = headers.get('x-api-key') || BEARER.exec(headers.get('authorization') ?? '')?.[1];
    return text === undefined || text === '' ? undefined : byDigest.get(digestOfKey(text).toHex());
  }

  return {
    /** Returns the client of a request. @throws ApiError 401 if the request needs a key */
    clientOf(headers: Headers, address: string): Client {
      const key = keyIn(headers);
      if (key !== undefined) {
        const id = `key ${key.name}`;
        return { key: key.name, id, network: id, perMinute: key.perMinute ?? (perMinute === 0 ? null : perMinute) };
      }
      if (perMinute !== 0) {
        return { key: null, id: `address ${addressGroup(address)}`, network: providerNetwork(address), perMinute };
      }
      throw new ApiError(401, 'This server only answers requests with a read key: send it as X-API-Key', 'READ_KEY');
    },

    /**
     * Counts a request.
     * @param cost requests that it counts as
     * @returns headers for the response; null for a client without a limit
     * @throws ApiError 429
     */
    charge(client: Client, cost: number): Record<string, string> | null {
      const { key, id, network, perMinute: limit } = client;
      const quota = limit === null ? null : table.charge({ id, network, perMinute: limit }, cost);
      metrics.counted(key, quota === null || quota.isAllowed);
      if (quota === null) return null;
      const headers = quotaHeaders(client, quota);
      if (quota.isAllowed) return headers;
      throw new ApiError(429, `Too many requests; the next one is allowed in ${quota.retryAfter} s`, 'RATE_LIMIT', {
        headers: { ...headers, 'retry-after': String(quota.retryAfter) },
      });
    },
  };
}
