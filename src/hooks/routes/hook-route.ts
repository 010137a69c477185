/** How a chainhook route is declared: as other routes, for a consumer, without a snapshot, with errors of its own shape. */
import { type Static, type TProperties, type TSchema, type TUndefined, Type } from '@sinclair/typebox';
import { checker, jsonBody } from '../../http/body.ts';
import { ApiError, ParameterError } from '../../http/errors.ts';
import { jsonOf } from '../../http/json.ts';
import { operation } from '../../http/openapi.ts';
import { pathReader, queryReader, type Values } from '../../http/parameters.ts';
import { checkedBody } from '../../http/response-check.ts';
import type { Method, Route, RouteContext } from '../../http/route.ts';
import type { Access } from '../access.ts';
import type { DeliveryLog } from '../delivery-log.ts';
import type { Management } from '../management.ts';
import { HookProblem, invalidField, TooManyTries } from '../problem.ts';
import type { Trial } from '../trial.ts';

/** What the routes call. */
export interface HookApi {
  access: Access;
  /** Whose a hook is, undefined for one that is not known. */
  ownerOf(uuid: string): string | undefined;
  /** Who has hooks, and how many. */
  consumers(): { consumer: string; hooks: number }[];
  management: Management;
  deliveries: DeliveryLog;
  trial: Trial;
}

type NoParameters = Record<never, TSchema>;

interface Declaration<P extends TProperties, Q extends TProperties, B extends TSchema, Sent extends TSchema> {
  method: Method;
  /** After `/chainhooks`: `/me/{uuid}`. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  params?: P;
  query?: Q;
  /** Of the JSON body; where a body may be left out, it is `{}` then. */
  body?: Sent;
  optionalBody?: true;
  /** The body as it is described, where it is read field by field. */
  described?: TSchema;
  /** 200 if not given; 204 has no body. */
  status?: 202 | 204;
  response: B;
  notFound?: string;
  /** Only the operator may ask. */
  operatorOnly?: true;
  handle(request: {
    params: Values<P>;
    query: Values<Q>;
    body: Static<Sent>;
    consumer: string;
    api: HookApi;
  }): Promise<Static<B>> | Static<B>;
}

export const Problem = Type.Object({ error: Type.String(), details: Type.String() });

/** Both are the same; the second is left out of the description. */
const PREFIXES = ['/chainhooks', '/chainhooks/v1'] as const;
const UNAVAILABLE = {
  error: 'Unavailable',
  details: 'The database can not be used now; the same request may succeed later',
};
const FAILED = { error: 'Internal server error', details: 'The log has its cause' };
const titles = { params: 'Invalid path parameter', querystring: 'Invalid query parameter' };

function problemOf(error: unknown): HookProblem | null {
  if (error instanceof HookProblem) return error;
  if (error instanceof ParameterError || (error instanceof ApiError && /(params|querystring)\//.test(error.message))) {
    const place = error.message.includes('querystring') ? 'querystring' : 'params';
    return new HookProblem(400, error.message.replace(`${place}/`, ''), titles[place]);
  }
  if (!(error instanceof ApiError)) return null;
  const { status, message } = error;
  return status === 413 || status === 415 ? new HookProblem(status, message) : new HookProblem(400, message);
}

/** @param api null where this process doesn't write */
export type HookRoutes = (api: HookApi | null) => Route[];

export function hookRoute<
  B extends TSchema,
  P extends TProperties = NoParameters,
  Q extends TProperties = NoParameters,
  Sent extends TSchema = TUndefined,
>(declaration: Declaration<P, Q, B, Sent>): HookRoutes {
  const { method, body, optionalBody, status = 200, response, operatorOnly = false, handle } = declaration;
  const mistakeIn = body === undefined ? null : checker(body);
  const readQuery = queryReader(declaration.query ?? ({} as Q));

  async function readBody(request: Request): Promise<Static<Sent>> {
    if (mistakeIn === null) return undefined as Static<Sent>;
    const sent = (await jsonBody(request)) ?? (optionalBody ? {} : undefined);
    if (sent === undefined) throw new HookProblem(400, 'body is required');
    const mistake = mistakeIn(sent);
    if (mistake !== null) throw invalidField(mistake.path.join('.') || 'body', mistake.rule);
    return sent as Static<Sent>;
  }

  const routeAt = (prefix: (typeof PREFIXES)[number], api: HookApi | null): Route => {
    const path = `${prefix}${declaration.path}`;
    const readParams = pathReader(path, declaration.params ?? ({} as P));
    const serve = ({ respond, failure, clientAddress, checkResponses }: RouteContext) => {
      const answer = async (request: Request): Promise<Response> => {
        const caller = api?.access.callerOf(request, clientAddress(request));
        const [params, query] = [readParams(request.url), readQuery(request.url)];
        if (api === null || caller === undefined) {
          throw new HookProblem(503, 'This process does not write; ask the one that takes the events, in mode full');
        }
        if (operatorOnly && !caller.isOperator) throw new HookProblem(403, 'Only the admin key may ask for this');
        const { uuid } = params as { uuid?: string };
        const owner = uuid === undefined ? undefined : api.ownerOf(uuid.toLowerCase());
        const consumer = api.access.consumerOf(request, caller, owner);
        const result = await handle({ params, query, body: await readBody(request), consumer, api });
        if (status === 204) {
          return new Response(null, { status, headers: { ...respond.common(), 'cache-control': 'no-store' } });
        }
        const text = jsonOf(result);
        if (checkResponses) checkedBody(path, response, text);
        return respond.jsonText(status, text);
      };
      return async (request: Request): Promise<Response> => {
        try {
          return await answer(request);
        } catch (error) {
          const problem = problemOf(error);
          if (problem !== null) {
            const refused = respond.json(problem.status, { error: problem.title, details: problem.message });
            if (problem instanceof TooManyTries) refused.headers.set('retry-after', String(problem.retryAfterSeconds));
            return refused;
          }
          // The cause goes to the log there.
          const { status: failed } = failure(error, request);
          return respond.json(failed, failed === 503 ? UNAVAILABLE : FAILED);
        }
      };
    };
    const sent = declaration.described ?? body;
    const described = operation({
      ...declaration,
      ...(sent === undefined ? {} : { body: sent }),
      tag: 'Chainhooks',
      etag: null,
      status,
      problem: Problem,
    });
    const detail = prefix === PREFIXES[0] ? described : { ...described, hide: true };
    return { method, path, deprecated: null, mainThread: true, detail, serve };
  };
  return (api) => PREFIXES.map((prefix) => routeAt(prefix, api));
}
