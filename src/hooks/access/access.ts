/**
 * Who may manage which hooks. A key says so, or the session of a browser that a key began, and nothing else does: neither
 * an address, which a proxy on this machine lends to everybody, nor a header. Where the operator opened it, whoever reaches
 * this server is the operator, but no page of another origin.
 */
import { type HostRules, hostCheck, isFromOtherPage, isFromOwnPage } from '../../http/hosts.ts';
import { HookProblem, TooManyTries } from '../problem.ts';
import { type Caller, findKey, type Key, keyOf, OPERATOR, type WrongKeys } from './keys.ts';
import { type Session, type Sessions, sessionCookie } from './sessions.ts';

/** Names the consumer that the operator acts for. */
export const CONSUMER_HEADER = 'x-chainhook-consumer';
/** Characters from which on nobody guesses a key, so that it is looked at however many wrong ones came. */
const UNGUESSABLE = 32;

/** Who may manage hooks. */
interface AccessRules {
  /** Null where no key is needed. */
  keys: { consumers: readonly Key[]; admin: string } | null;
  hosts: HostRules['names'];
  wrongKeys: WrongKeys;
  sessions: Sessions;
}

/** Decides who may manage hooks. */
export interface Access {
  /** False where everybody is the operator. */
  needsKey: boolean;
  sessions: Sessions;
  /** @throws HookProblem 421 for a request by a name that isn't this server's */
  requireOwnHost(request: Request): void;
  /**
   * Who makes a request, by its key alone.
   * @throws HookProblem as {@link Access.callerOf}
   */
  holderOf(request: Request, peer: string): Caller;
  /** The session that a request's cookie names; null for none, also where no key is needed. */
  sessionOf(request: Request): Session | null;
  /**
   * Who makes a request, by its key, or else by its session.
   * @param peer address that the request came from, empty where it isn't known; nothing is allowed because of it
   * @throws HookProblem 401, 403, 421, 429
   */
  callerOf(request: Request, peer: string): Caller;
  /**
   * The consumer whose hooks a request is about.
   * @param owner of the hook that it names; undefined where it names none
   * @throws HookProblem 403 where the caller may not act for the consumer that a header names
   */
  consumerOf(request: Request, caller: Caller, owner: string | undefined): string;
}

const wrongHost = (): HookProblem =>
  new HookProblem(
    421,
    'The Host of the request is not a name of this server; the operator can add it with --allowed-hosts',
  );

const noKey = (): HookProblem => new HookProblem(401, 'Missing or invalid API key');

/** The key that a request brings, null for none. */
function credentialOf({ headers }: Request): string | null {
  const bearer = /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  return headers.get('x-api-key') || bearer || null;
}

const consumerOf: Access['consumerOf'] = ({ headers }, { consumer, isOperator }, owner) => {
  const wanted = headers.get(CONSUMER_HEADER)?.trim() || undefined;
  if (isOperator) return wanted ?? owner ?? consumer;
  if (wanted !== undefined && wanted !== consumer) {
    throw new HookProblem(
      403,
      `${CONSUMER_HEADER} names another consumer; only the admin key can act for other consumers`,
    );
  }
  return consumer;
};

/** Refuses requests by names that a page of anybody may have pointed to this machine. */
function hostRefusal(rules: HostRules): Access['requireOwnHost'] {
  const isOurs = hostCheck(rules);
  return ({ headers }) => {
    if (!isOurs(headers.get('host'))) throw wrongHost();
  };
}

const otherPage = (): HookProblem => new HookProblem(403, "Web pages of other origins can't manage chainhooks");

/** The access of a server without keys: everybody may ask, except pages of another origin. */
function openAccess(hosts: AccessRules['hosts'], sessions: Sessions): Access {
  const requireOwnHost = hostRefusal({ names: hosts, addresses: 'loopback' });
  const callerOf = (request: Request): Caller => {
    requireOwnHost(request);
    if (isFromOtherPage(request)) throw otherPage();
    return OPERATOR;
  };
  return { needsKey: false, sessions, requireOwnHost, holderOf: callerOf, sessionOf: () => null, callerOf, consumerOf };
}

/** Methods that change nothing. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a session where another page may use it: a browser adds the cookie to requests of pages on other ports of this
 * host, too.
 */
function requireOwnPage(request: Request): void {
  if (SAFE.has(request.method) ? isFromOtherPage(request) : !isFromOwnPage(request)) throw otherPage();
}

/** @returns what tells from a request who makes it */
export function access({ keys, hosts, wrongKeys, sessions }: AccessRules): Access {
  if (keys === null) return openAccess(hosts, sessions);
  const known = [
    ...keys.consumers.map((key) => ({ ...key, caller: { consumer: key.consumer, isOperator: false } })),
    { ...keyOf(OPERATOR.consumer, keys.admin), caller: OPERATOR },
  ];
  const requireOwnHost = hostRefusal({ names: hosts, addresses: 'any' });

  /** The holder of a key. @throws HookProblem for a key that is wrong */
  function ownerOf(credential: string, peer: string): Caller {
    const waitMs = wrongKeys.wait(peer);
    const isLookedAt = waitMs === 0 || credential.length >= UNGUESSABLE;
    const key = isLookedAt ? findKey(known, credential) : undefined;
    if (key !== undefined) return key.caller;
    wrongKeys.count(peer);
    if (waitMs === 0) throw noKey();
    throw new TooManyTries(Math.ceil(waitMs / 1000), 'Too many requests with wrong API keys came from your address');
  }

  function sessionOf(request: Request): Session | null {
    const cookie = sessionCookie(request);
    return cookie === null ? null : sessions.find(cookie);
  }

  return {
    needsKey: true,
    sessions,
    requireOwnHost,
    holderOf(request, peer) {
      requireOwnHost(request);
      const credential = credentialOf(request);
      if (credential === null) throw noKey();
      return ownerOf(credential, peer);
    },
    sessionOf,
    callerOf(request, peer) {
      requireOwnHost(request);
      const credential = credentialOf(request);
      if (credential !== null) return ownerOf(credential, peer);
      const session = sessionOf(request);
      if (session === null) throw noKey();
      requireOwnPage(request);
      return session.caller;
    },
    consumerOf,
  };
}
