/** How deliveries are tried: times, retries and how many at once. */

export interface DeliveryRules {
  /** Milliseconds for one request. */
  timeoutMs: number;
  /** Milliseconds of them until the connection stands. */
  connectTimeoutMs: number;
  /** How long a delivery is tried before its hook is interrupted, in milliseconds. */
  budgetMs: number;
  /** The longest wait between two attempts in milliseconds, unless the receiver asks for a longer one. */
  retryCapMs: number;
  /** Requests under way at once. */
  concurrency: number;
}

const FIRST_WAIT_MS = 2_000;
const JITTER = 0.2;
/** Doublings of a wait after which any cap is reached. */
const MOST_DOUBLINGS = 30;

/**
 * How long to wait after failed attempts. Chance keeps hooks from coming back all at once.
 *
 * @param attempts how many failed, at least 1
 * @param capMs the longest wait, before chance
 * @param random from 0 to 1
 * @returns milliseconds
 */
export function backoff(attempts: number, capMs: number, random: () => number): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, MOST_DOUBLINGS), capMs);
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random()));
}

/** Receivers that hang must not take every place: a quarter is left to what is tried for the first time. */
export const mostRetries = (concurrency: number): number => Math.max(1, Math.floor(concurrency * 0.75));
