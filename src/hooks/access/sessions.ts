/**
 * Sign-in for browsers: a session takes the place of a key, so that the console's script never holds one.
 *
 * The contract, for the console and for others who serve pages of this origin:
 *
 * - `GET /stackside/v1/session` describes the browser's session. It works without a session:
 *   `{ access, signed_in, operator, consumer, expires_at }`. `access` is `key`, `open` (every client is the operator, and there
 *   is no sign-in) or `none` (this process doesn't write, so it manages no hooks).
 * - `POST /stackside/v1/session` with a key (`x-api-key` or `Authorization: Bearer`) signs the browser in: it answers as
 *   GET does, and sets the cookie. The key may be the admin key or one of a consumer.
 * - `GET /stackside/v1/session/sign-in?token=…` is the link that `serve` and `stackside console` print: it sets the cookie
 *   and redirects to `/`. A link works once, within {@link LINK_MS}; afterwards the answer is 401, except in a browser that
 *   is signed in, which is redirected again.
 * - `POST /stackside/v1/session/links` with a key makes such a link: `{ path, expires_at }`.
 * - `DELETE /stackside/v1/session` signs out: 204, and the cookie is gone from the server and from the browser.
 *
 * The cookie is `HttpOnly; SameSite=Strict`. Every route that accepts a key also accepts the cookie
 * ({@link ./access.ts}). An unsafe request with the cookie is answered only if the browser states that a
 * page of this origin makes it (`Sec-Fetch-Site: same-origin`, or an `Origin` equal to `Host`); otherwise the answer is 403.
 *
 * Sessions are in the memory of the main thread, which answers all these routes, also with `--threads`. They end after
 * {@link IDLE_MS} without a request, after {@link SESSION_MS} in any case, and with the process. A system clock that is set
 * back doesn't prolong them. Memory has only the digests of tokens and cookies.
 */
import type { Clock } from '../../base/clock.ts';
import type { Caller } from './keys.ts';

const LINK_MS = 15 * 60_000;
/** Milliseconds without a request after which a session ends. */
const IDLE_MS = 24 * 3_600_000;
/** Milliseconds after which a session ends in any case. */
const SESSION_MS = 7 * 24 * 3_600_000;
/** Maximum unused links of a caller; one more replaces the oldest. */
const MAX_LINKS = 100;
/** Maximum sessions of a caller; one more ends the oldest. */
const MAX_SESSIONS = 1_000;
const SECRET_BYTES = 32;

export interface Session {
  caller: Caller;
  /** Unix milliseconds. */
  expiresAt: number;
}

interface NewSecret {
  secret: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Key of a secret in memory: with a digest, the time of a look-up reveals nothing about the secret. */
const digestOf = (secret: string): string => new Bun.CryptoHasher('sha256').update(secret).digest('hex');

const newSecret = (): string => crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toHex();

type Times = Pick<Clock, 'now' | 'monotonic'>;

/**
 * Makes a function that returns the milliseconds that are left; 0 or less at the end. The earlier end of the two clocks counts:
 * a wall clock that is set back doesn't prolong a session, and the monotonic clock stands still while the machine sleeps.
 */
function countdown(clock: Times, milliseconds: number): () => number {
  const [wall, monotonic] = [clock.now() + milliseconds, clock.monotonic() + milliseconds];
  return () => Math.min(wall - clock.now(), Math.floor(monotonic - clock.monotonic()));
}

interface OpenSession {
  caller: Caller;
  /** Milliseconds until the session ends, even if it is used. */
  end: () => number;
  /** Milliseconds until the session ends if it isn't used. */
  idle: () => number;
}

const leftOf = ({ end, idle }: OpenSession): number => Math.min(end(), idle());

const isSameCaller = (a: Caller, b: Caller): boolean => a.consumer === b.consumer && a.isOperator === b.isOperator;

/** Callers by secret until the secret expires, oldest secret first. @param maximum secrets of a caller */
function secretsOf(clock: Times, maximum: number) {
  const sessions = new Map<string, OpenSession>();
  return {
    add(caller: Caller, lastsMs: number, idleMs: number): NewSecret {
      const digests: string[] = [];
      for (const [digest, session] of sessions) {
        if (leftOf(session) <= 0) sessions.delete(digest);
        else if (isSameCaller(session.caller, caller)) digests.push(digest);
      }
      // Only the caller's own session ends: with a key, a client can make as many as it likes.
      if (digests.length >= maximum && digests[0] !== undefined) sessions.delete(digests[0]);
      const secret = newSecret();
      sessions.set(digestOf(secret), { caller, end: countdown(clock, lastsMs), idle: countdown(clock, idleMs) });
      return { secret, expiresAt: clock.now() + Math.min(lastsMs, idleMs) };
    },
    find(secret: string): OpenSession | null {
      const session = sessions.get(digestOf(secret));
      return session !== undefined && leftOf(session) > 0 ? session : null;
    },
    remove: (secret: string): void => void sessions.delete(digestOf(secret)),
  };
}

/** Makes the sessions of browsers, and the links that begin them; there are none at first. */
export function openSessions(clock: Times) {
  const links = secretsOf(clock, MAX_LINKS);
  const sessions = secretsOf(clock, MAX_SESSIONS);
  return {
    /** Makes the token of a link, which signs in once. */
    link: (caller: Caller): NewSecret => links.add(caller, LINK_MS, LINK_MS),
    /** Uses up a token. @returns the caller that it signs in; null if it is unknown, used or expired */
    redeem(token: string): Caller | null {
      const link = links.find(token);
      links.remove(token);
      return link?.caller ?? null;
    },
    /** Begins a session. @returns the value of its cookie */
    begin: (caller: Caller): NewSecret => sessions.add(caller, SESSION_MS, IDLE_MS),
    /** Finds a session by its cookie's value, and extends it; null if there is none. */
    find(secret: string): Session | null {
      const session = sessions.find(secret);
      if (session === null) return null;
      session.idle = countdown(clock, IDLE_MS);
      return { caller: session.caller, expiresAt: clock.now() + leftOf(session) };
    },
    /** Ends the session with this cookie's value, if there is one. */
    end: (secret: string): void => sessions.remove(secret),
  };
}
export type Sessions = ReturnType<typeof openSessions>;

/** Prefix of the session cookie's name, which also has the port of the request: all ports of a host share cookies. */
const COOKIE_PREFIX = 'stackside_session';
const PORT = /:(\d{1,5})$/;

function nameFor({ headers }: Request): string {
  const port = PORT.exec(headers.get('host') ?? '')?.[1];
  return port === undefined ? COOKIE_PREFIX : `${COOKIE_PREFIX}_${port}`;
}

/** The value of a request's session cookie; null without one. */
export function sessionCookie(request: Request): string | null {
  return new Bun.CookieMap(request.headers.get('cookie') ?? '').get(nameFor(request)) || null;
}

/** The cookie is `Secure` if the browser used TLS, which the proxy in front states. */
const attributes = ({ headers }: Request): string =>
  `Path=/; HttpOnly; SameSite=Strict${headers.get('x-forwarded-proto') === 'https' ? '; Secure' : ''}`;

/** The `Set-Cookie` header that begins a session in the browser. @param secret the value of the cookie */
export const cookieOf = (request: Request, secret: string): string =>
  `${nameFor(request)}=${secret}; Max-Age=${SESSION_MS / 1000}; ${attributes(request)}`;

/** The `Set-Cookie` header that makes the browser forget the session. */
export const noCookie = (request: Request): string => `${nameFor(request)}=; Max-Age=0; ${attributes(request)}`;
