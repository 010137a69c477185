/**
 * Who may manage which hooks. A key says so, and nothing else does: neither an address, which a proxy on this machine lends
 * to everybody, nor a header. Where the operator opened it, whoever reaches this server is the operator, but no page of
 * another origin.
 */
import { type HostRules, hostCheck, isFromOtherPage } from '../http/hosts.ts';
import { findKey, type Key, keyOf } from './keys.ts';
import { HookProblem, TooManyTries } from './problem.ts';
import type { WrongKeys } from './wrong-keys.ts';

/** Whose the operator's own hooks are. */
const OPERATOR_CONSUMER = 'default';
/** Names the consumer that the operator acts for. */
export const CONSUMER_HEADER = 'x-chainhook-consumer';
/** Characters from which on nobody guesses a key, so that it is looked at however many wrong ones came. */
const UNGUESSABLE = 32;

/** Who may manage hooks. */
export interface AccessRules {
  /** Null where no key is needed. */
  keys: { consumers: readonly Key[]; admin: string } | null;
  hosts: HostRules['names'];
  wrongKeys: WrongKeys;
}

/** Who asks. */
export interface Caller {
  consumer: string;
  /** Acts for every consumer. */
  isOperator: boolean;
}

/** Decides who may manage hooks. */
export interface Access {
  /**
   * Who makes a request.
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

const OPERATOR: Caller = { consumer: OPERATOR_CONSUMER, isOperator: true };

const wrongHost = (): HookProblem =>
  new HookProblem(
    421,
    'The Host of the request is not a name of this server; the operator may add it (--allowed-hosts)',
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
    throw new HookProblem(403, `${CONSUMER_HEADER} names another consumer, for which only the admin key acts`);
  }
  return consumer;
};

/** The access of a server without keys: everybody may ask, except pages of another origin. */
function openAccess(hosts: AccessRules['hosts']): Access {
  const isOurs = hostCheck({ names: hosts, addresses: 'loopback' });
  return {
    callerOf(request) {
      if (!isOurs(request.headers.get('host'))) throw wrongHost();
      if (isFromOtherPage(request)) throw new HookProblem(403, 'A page of another origin may not manage chainhooks');
      return OPERATOR;
    },
    consumerOf,
  };
}

/** @returns what tells from a request who makes it */
export function access({ keys, hosts, wrongKeys }: AccessRules): Access {
  if (keys === null) return openAccess(hosts);
  const known = [
    ...keys.consumers.map((key) => ({ ...key, caller: { consumer: key.consumer, isOperator: false } })),
    { ...keyOf(OPERATOR_CONSUMER, keys.admin), caller: OPERATOR },
  ];
  const isOurs = hostCheck({ names: hosts, addresses: 'any' });

  return {
    callerOf(request, peer) {
      if (!isOurs(request.headers.get('host'))) throw wrongHost();
      const credential = credentialOf(request);
      if (credential === null) throw noKey();
      const waitMs = wrongKeys.wait(peer);
      const isLookedAt = waitMs === 0 || credential.length >= UNGUESSABLE;
      const key = isLookedAt ? findKey(known, credential) : undefined;
      if (key !== undefined) return key.caller;
      wrongKeys.count(peer);
      if (waitMs === 0) throw noKey();
      throw new TooManyTries(Math.ceil(waitMs / 1000), 'Too many requests with wrong API keys came from your address');
    },
    consumerOf,
  };
}
