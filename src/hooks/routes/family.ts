/** Shared parts of all chainhook routes: access, and the shape of errors. */
import { Type } from '@sinclair/typebox';
import { named } from '../../api/shared/fields.ts';
import { ApiError, type ErrorShape, ParameterError } from '../../http/errors.ts';
import type { Access as RouteAccess } from '../../http/route.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import type { ReadNow } from '../../store/read/snapshots.ts';
import { type Access, consumerOf } from '../access/access.ts';
import { HookProblem, titleOf } from '../problem.ts';
import { Uuid } from './schemas.ts';

export interface HookCallers {
  access: Access;
  /** The consumer that owns a hook; undefined for an unknown one. */
  ownerOf(uuid: string): string | undefined;
}

/** The chainhooks and the chain's height in one snapshot. */
export type HookReader = Pick<Reader, 'hooks' | 'height'>;

/** Reads from a snapshot with all that this process has answered so far; for reads before and after a command. */
export type ReadHooks = <T>(look: (read: HookReader) => ReadNow<T>) => T;

const locationTitles = {
  params: 'Invalid path parameter',
  querystring: 'Invalid query parameter',
  headers: 'Invalid header',
  body: titleOf(400),
} as const;

export const hookErrors: ErrorShape = {
  schema: named('ChainhookProblem', { error: Type.String(), details: Type.String() }),
  body(error) {
    if (!(error instanceof ParameterError)) return { error: titleOf(error.status), details: error.message };
    const separator = error.location === 'body' ? '.' : '/';
    return { error: locationTitles[error.location], details: error.withoutLocation(separator) };
  },
  unavailable: { error: titleOf(503), details: "The database can't be used now; the same request may succeed later" },
  failed: { error: 'Internal server error', details: 'The log has its cause' },
};

/** The error of a process that doesn't write, and so manages no hooks. */
export const readOnlyProcessError = (): HookProblem =>
  new HookProblem(
    503,
    "This process only reads; send the request to the process that receives the node's events (--mode full)",
  );

const ONLY_THE_OPERATOR = 'This request needs the admin key';
const SEND_ADMIN_KEY =
  'Missing or invalid API key: send the admin key as X-API-Key: it is in admin.key in the data directory, or in the file that --admin-key names';

const UNAUTHORIZED = 401;

/** Names the admin key in a refusal of a request without a valid key. @throws ApiError, HookProblem */
function namingAdminKey<T>(admit: () => T): T {
  try {
    return admit();
  } catch (error) {
    const isKeyless = error instanceof HookProblem && error.status === UNAUTHORIZED;
    throw isKeyless ? new ApiError(UNAUTHORIZED, SEND_ADMIN_KEY, 'ADMIN_KEY') : error;
  }
}

interface HookCaller<Api> {
  consumer: string;
  api: Api;
}

/** @param operatorOnly whether the admin key is needed */
const accessTo =
  <Api extends HookCallers>(api: Api | null, operatorOnly: boolean): RouteAccess<object, HookCaller<Api>> =>
  (request, clientAddress) => {
    const caller = api?.access.callerOf(request, clientAddress);
    return (params) => {
      if (api === null || caller === undefined) throw readOnlyProcessError();
      if (operatorOnly && !caller.isOperator) throw new HookProblem(403, ONLY_THE_OPERATOR);
      const { uuid } = params as { uuid?: string };
      const owner = uuid === undefined ? undefined : api.ownerOf(uuid.toLowerCase());
      return { consumer: consumerOf(request, caller, owner), api };
    };
  };

/** Allows only the operator. @param api null if this process doesn't write, and so lacks keys */
export const operatorAccess =
  (api: HookCallers | null): RouteAccess<object, undefined> =>
  (request, clientAddress) => {
    if (api === null) throw readOnlyProcessError();
    const admit = namingAdminKey(() => accessTo(api, true)(request, clientAddress));
    return (params) => void admit(params);
  };

/** Every route is served under both prefixes; the OpenAPI document has only the first. */
export const PREFIXES = ['/chainhooks', '/chainhooks/v1'] as const;

export const ONE_HOOK = {
  params: { uuid: Uuid },
  notFound: 'Chainhook not found: this consumer has none with this id',
} as const;

const refusals = {
  403: 'The key may not do this, or a web page of another origin sent the request',
  421: 'The `Host` header does not name this server',
  429: 'Too many requests with wrong keys came from this address, or too many requests of this kind are waiting',
  503: "The data can't be used now, or this process does not write",
};

/**
 * Common declarations of the routes under a prefix: one set for routes that read from one snapshot, one for routes that
 * send commands or wait, without a snapshot.
 * @param api null if this process doesn't write
 */
export function hookFamily<Api extends HookCallers>(prefix: (typeof PREFIXES)[number], api: Api | null) {
  const reads = {
    tag: 'Chainhooks',
    hidden: prefix !== PREFIXES[0],
    errors: hookErrors,
    refusals,
    access: accessTo(api, false),
    etag: null,
    history: 'none',
    mainThread: true,
  } as const;
  return {
    prefix,
    reads,
    operatorReads: { ...reads, access: accessTo(api, true) },
    commands: { ...reads, snapshot: false } as const,
  };
}

/** The routes' declarations for one part of the API. */
export type HookFamily<Part> = ReturnType<typeof hookFamily<HookCallers & Part>>;
