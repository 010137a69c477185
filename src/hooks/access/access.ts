/**
 * Access to chainhooks: which caller may manage which hooks. Callers are identified by an API key, or by a browser session
 * that began with a key, and by nothing else. Addresses don't count, since behind a proxy on this machine all clients have the
 * same one, and headers don't count either. With open access, every client acts as the operator, except pages of other origins.
 */
import { type HostRules, hostCheck, isFromOtherPage, isFromOwnPage } from '../../http/hosts.ts';
import { HookProblem, tooManyTries } from '../problem.ts';
import { type Caller, findKey, type Key, keyOf, OPERATOR, type WrongKeys } from './keys.ts';
import { type Session, type Sessions, sessionCookie } from './sessions.ts';

/** Header with the consumer that the operator acts for. */
export const CONSUMER_HEADER = 'x-chainhook-consumer';
/** Minimum characters of a key that can't be guessed. Such keys are checked even while wrong keys are slowed down. */
const MIN_UNGUESSABLE = 32;

interface AccessRules {
  /** Null with open access. */
  keys: { consumers: readonly Key[]; admin: string } | null;
  hosts: HostRules['names'];
  wrongKeys: WrongKeys;
  sessions: Sessions;
}

export interface Access {
  /** False with open access: every client is the operator. */
  needsKey: boolean;
  sessions: Sessions;
  /** Checks the Host header. @throws HookProblem 421 if it isn't a name of this server */
  requireOwnHost(request: Request): void;
  /**
   * Returns the caller of a request by its key, without the session.
   * @throws HookProblem as {@link Access.callerOf}
   */
  holderOf(request: Request, peer: string): Caller;
  /** Returns the session of a request's cookie; null without a session, and with open access. */
  sessionOf(request: Request): Session | null;
  /**
   * Returns the caller of a request by its key, or else by its session.
   * @param peer address of the client, empty if unknown; used to slow down wrong keys, never to grant access
   * @throws HookProblem 401, 403, 421, 429
   */
  callerOf(request: Request, peer: string): Caller;
}

const wrongHost = (): HookProblem =>
  new HookProblem(
    421,
    'The Host of the request is not a name of this server; the operator can add it with --allowed-hosts',
  );

const noKey = (): HookProblem => new HookProblem(401, 'Missing or invalid API key');

function credentialOf({ headers }: Request): string | null {
  const bearer = /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  return headers.get('x-api-key') || bearer || null;
}

/**
 * Returns the consumer that a request concerns.
 * @param owner consumer of the hook in the path; undefined without one
 * @throws HookProblem 403 if the caller may not act for the consumer in the header
 */
export function consumerOf({ headers }: Request, { consumer, isOperator }: Caller, owner: string | undefined): string {
  const headerConsumer = headers.get(CONSUMER_HEADER)?.trim() || undefined;
  if (isOperator) return headerConsumer ?? owner ?? consumer;
  if (headerConsumer !== undefined && headerConsumer !== consumer) {
    throw new HookProblem(
      403,
      `${CONSUMER_HEADER} names another consumer; only the admin key can act for other consumers`,
    );
  }
  return consumer;
}

/** Refuses requests for other hosts, since any web page can point its name to this server (DNS rebinding). */
function hostRefusal(rules: HostRules): Access['requireOwnHost'] {
  const isOurs = hostCheck(rules);
  return ({ headers }) => {
    if (!isOurs(headers.get('host'))) throw wrongHost();
  };
}

const otherPage = (): HookProblem => new HookProblem(403, "Web pages of other origins can't use this route");

/** Access without keys: every client may manage hooks, except pages of other origins. */
function openAccess(hosts: AccessRules['hosts'], sessions: Sessions): Access {
  const requireOwnHost = hostRefusal({ names: hosts, addresses: 'loopback' });
  const callerOf = (request: Request): Caller => {
    requireOwnHost(request);
    if (isFromOtherPage(request)) throw otherPage();
    return OPERATOR;
  };
  return { needsKey: false, sessions, requireOwnHost, holderOf: callerOf, sessionOf: () => null, callerOf };
}

/** Methods that change nothing. */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses requests with a session from pages of other origins: browsers also send the cookie for pages on other ports of this
 * host.
 */
function requireOwnPage(request: Request): void {
  if (SAFE_METHODS.has(request.method) ? isFromOtherPage(request) : !isFromOwnPage(request)) throw otherPage();
}

/** Makes the access check from the operator's settings. */
export function access({ keys, hosts, wrongKeys, sessions }: AccessRules): Access {
  if (keys === null) return openAccess(hosts, sessions);
  const callers = [
    ...keys.consumers.map((key) => ({ ...key, caller: { consumer: key.consumer, isOperator: false } })),
    { ...keyOf(OPERATOR.consumer, keys.admin), caller: OPERATOR },
  ];
  const requireOwnHost = hostRefusal({ names: hosts, addresses: 'any' });

  /** The caller of a key. @throws HookProblem for a wrong key */
  function callerOfKey(credential: string, peer: string): Caller {
    const waitMs = wrongKeys.wait(peer);
    const isLookedAt = waitMs === 0 || credential.length >= MIN_UNGUESSABLE;
    const key = isLookedAt ? findKey(callers, credential) : undefined;
    if (key !== undefined) return key.caller;
    wrongKeys.count(peer);
    if (waitMs === 0) throw noKey();
    throw tooManyTries(Math.ceil(waitMs / 1000), 'Too many requests with wrong API keys came from your address');
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
      return callerOfKey(credential, peer);
    },
    sessionOf,
    callerOf(request, peer) {
      requireOwnHost(request);
      const credential = credentialOf(request);
      if (credential !== null) return callerOfKey(credential, peer);
      const session = sessionOf(request);
      if (session === null) throw noKey();
      requireOwnPage(request);
      return session.caller;
    },
  };
}
