/** Requests to servers with archives. Temporary failures are retried with growing waits. */
import { MD5 } from 'bun';
import { readUpTo } from '../base/bounded-read.ts';
import type { Clock } from '../base/clock.ts';
import { OperatorError, TemporaryError } from '../base/errors.ts';
import { backoff, withRetries } from '../base/service.ts';
import { directFetch } from '../http/direct-fetch.ts';

const WAITS = { firstMs: 1_000, maxMs: 16_000 };
/** Maximum attempts of a request, including the first. */
const MAX_ATTEMPTS = 6;
/**
 * Milliseconds within which a request must receive its response, or at least this many bytes of it. Otherwise the
 * attempt ends.
 */
const STALL_MS = 60_000;
const MIN_BYTES = 64 * 1024;
/** Maximum bytes to read from an error response. */
const MAX_ERROR = 64 * 1024;

/** Statuses of success, with or without a body. */
const SUCCESS: ReadonlySet<number> = new Set([200, 204]);
/** Client errors after which the same request may succeed: request timeout, too early, too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
const SERVER_ERRORS = 500;

export interface Refusal {
  status: number;
  /** Start of the body. */
  text: string;
}

export interface Transfer {
  /** The location in messages. */
  location: string;
  clock: Clock;
  /** Returns a number from 0 to 1, for the waits. */
  random: () => number;
  /** Whether to follow redirects. Signed requests don't, because they are valid for one server only. */
  redirect: 'follow' | 'manual';
  /**
   * Converts a permanent rejection to an error. Returns null if it means that the file doesn't exist, or that it must
   * not be replaced.
   */
  toRefusalError: (refusal: Refusal) => OperatorError | null;
  /** Reports whether a client error may pass although its status isn't one of {@link PASSING}. */
  mayPass?: (refusal: Refusal) => boolean;
}

/** Thrown if an attempt failed but may succeed when it is repeated. */
class RetryError extends Error {
  override readonly name = 'RetryError';
}

/**
 * Aborts a request that stalls, or with a response that is too slow to ever end.
 * @returns the signal, a function that counts received bytes, and a function that ends the guard
 */
function stallGuard({ after }: Clock) {
  const timeout = new AbortController();
  let received = 0;
  const begin = (): (() => void) =>
    after(STALL_MS, () => {
      if (received < MIN_BYTES) return timeout.abort(new DOMException('the response was too short', 'TimeoutError'));
      received = 0;
      cancel = begin();
    });
  let cancel = begin();
  return {
    signal: timeout.signal,
    heard(bytes: number): void {
      received += bytes;
    },
    end: () => cancel(),
  };
}
type StallGuard = ReturnType<typeof stallGuard>;

/** Codes of errors about the certificate of a server, which a retry doesn't fix. */
const CERTIFICATE: ReadonlySet<unknown> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_SIGNATURE_FAILURE', 'CERT_UNTRUSTED'],
  ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'CERT_REVOKED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'],
]);

/** @throws OperatorError if a request with TLS was redirected to plain HTTP */
function requireTls(requestUrl: string, { url, redirected }: Response, location: string): void {
  if (!redirected || !requestUrl.startsWith('https:') || url.startsWith('https:')) return;
  throw new OperatorError(
    `${location} redirects to plain HTTP.`,
    "Stackside doesn't follow it. Use another URL of the same files.",
  );
}

/** Makes the URL of an attempt: signed URLs expire. */
type UrlOf = () => string | Promise<string>;

/** Makes one attempt. @throws RetryError if the connection failed, or the rejection may pass */
async function attemptOnce<T>(
  urlOf: UrlOf,
  init: BunFetchRequestInit,
  { location, clock, redirect, toRefusalError: refused, mayPass = () => false }: Transfer,
  consume: (response: Response, guard: StallGuard) => Promise<T>,
): Promise<T | null> {
  const url = await urlOf();
  const guard = stallGuard(clock);
  try {
    const response = await directFetch(url, {
      ...init,
      redirect,
      // Keeps the bytes of the file: a server may declare a zstd file as a content encoding.
      decompress: false,
      headers: { 'accept-encoding': 'identity', ...init.headers },
      signal: guard.signal,
    });
    requireTls(url, response, location);
    if (SUCCESS.has(response.status)) return await consume(response, guard);
    const text = new TextDecoder().decode((await readUpTo(response.body, MAX_ERROR, guard.heard)) ?? undefined);
    const { status } = response;
    if (status >= SERVER_ERRORS || PASSING.has(status) || mayPass({ status, text }))
      throw new RetryError(`it answered ${status}`);
    const refusal = refused({ status, text });
    if (refusal !== null) throw refusal;
    return null;
  } catch (error) {
    if (error instanceof OperatorError || error instanceof RetryError) throw error;
    const code = Object(error).code;
    if (CERTIFICATE.has(code)) {
      throw new OperatorError(
        `The certificate of the server of ${location} is not valid: ${code}.`,
        'Check the address and the clock of this machine. For a private certificate authority, set NODE_EXTRA_CA_CERTS.',
        { cause: error },
      );
    }
    // After any error of the connection, the next attempt may succeed.
    throw new RetryError('the connection failed', { cause: error });
  } finally {
    guard.end();
  }
}

/** Returns a failure that may pass as a result. */
const retryErrorOf = (error: unknown): RetryError => {
  if (error instanceof RetryError) return error;
  throw error;
};

/**
 * Repeats an attempt until it succeeds or fails permanently.
 * @throws OperatorError for a permanent rejection; TemporaryError if all attempts fail
 */
async function succeed<T>({ location, clock, random }: Transfer, attempt: () => Promise<T>): Promise<T> {
  const result = await withRetries(
    clock,
    () => attempt().catch(retryErrorOf),
    (result, attempts) =>
      result instanceof RetryError && attempts < MAX_ATTEMPTS ? backoff(attempts, { ...WAITS, random }) : null,
  );
  if (!(result instanceof RetryError)) return result;
  throw new TemporaryError(
    `${location} can't be reached: ${result.message}.`,
    'Check the location and its server. A running Stackside retries by itself. After that, run a command again: a restore or an import continues where it stopped.',
    { cause: result },
  );
}

/** Maximum and minimum bytes of a file. */
export interface SizeBounds {
  min: number;
  max: number;
}

/** Gets a file. @returns null if there is no such file @throws OperatorError, TemporaryError */
export function getFile(transfer: Transfer, url: UrlOf, { min, max }: SizeBounds): Promise<Uint8Array | null> {
  return succeed(transfer, () =>
    attemptOnce(url, {}, transfer, async (response, guard) => {
      const bytes = await readUpTo(response.body, max, guard.heard);
      // A proxy that loses its server may end a body as if it were complete.
      if (bytes !== null && bytes.length < min) throw new RetryError(`it sent ${bytes.length} of ${min} bytes`);
      if (bytes !== null) return bytes;
      throw new OperatorError(
        `${transfer.location} is larger than the ${max} bytes that are allowed.`,
        'Copy the files from their source again, or use another copy.',
      );
    }),
  );
}

/** Puts a file. @returns false if the server rejects it, for example because one exists @throws OperatorError, TemporaryError */
async function put(transfer: Transfer, url: UrlOf, bytes: Uint8Array, headers = {}): Promise<boolean> {
  const init: BunFetchRequestInit = {
    method: 'PUT',
    body: bytes as Uint8Array<ArrayBuffer>,
    // The server compares the hash, so it never stores an incomplete body as the file.
    headers: { 'content-md5': Buffer.from(MD5.hash(bytes) as Uint8Array).toString('base64'), ...headers },
  };
  return (await succeed(transfer, () => attemptOnce(url, init, transfer, async () => true))) !== null;
}

/** Puts a file. Replaces an existing file. @throws OperatorError, TemporaryError */
export async function putFile(transfer: Transfer, url: UrlOf, bytes: Uint8Array): Promise<void> {
  if (await put(transfer, url, bytes)) return;
  throw new OperatorError(`Nothing can be written to ${transfer.location}.`, 'Check the address.');
}

/**
 * Puts a file if none exists.
 * @returns false if one exists; a previous attempt with a lost response may have put it
 * @throws OperatorError, TemporaryError
 */
export const putNewFile = (transfer: Transfer, url: UrlOf, bytes: Uint8Array): Promise<boolean> =>
  put(transfer, url, bytes, { 'if-none-match': '*' });

/** Deletes a file, if it exists. @throws OperatorError, TemporaryError */
export async function deleteFile(transfer: Transfer, url: UrlOf): Promise<void> {
  await succeed(transfer, () => attemptOnce(url, { method: 'DELETE' }, transfer, async () => true));
}
