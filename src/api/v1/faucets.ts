/** Faucets of test networks. What goes wrong is said as clients of these routes know it: `{error, success: false}`. */
import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { FaucetError } from '../../faucets/faucet-error.ts';
import type { BitcoinSize, Faucets } from '../../faucets/faucets.ts';
import { deprecatedRoute } from '../../http/deprecation.ts';
import type { ErrorBody } from '../../http/errors.ts';
import { operation } from '../../http/openapi.ts';
import { pathReader } from '../../http/parameters.ts';
import { BodyError, bodyText } from '../../http/request-body.ts';
import { queryText } from '../../http/request-url.ts';
import type { Method, Route, RouteContext } from '../../http/route.ts';

const tag = 'Faucets';

const Success = Type.Literal(true);
const SentStacks = Type.Object({
  success: Success,
  txId: Type.String({ description: 'Transaction id' }),
  txRaw: Type.String({ description: 'The transaction in hex, without 0x' }),
});
const SentBitcoin = Type.Object({
  success: Success,
  txid: Type.String({ description: 'Transaction id, as Bitcoin shows it' }),
  raw_tx: Type.String({ description: 'The transaction in hex' }),
});
const Balance = Type.Object({ balance: Type.Number({ description: 'BTC' }) });

const address = Type.String({ description: 'Who is to get it' });
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

/** What a request says, of its query and, where that is accepted, its body. */
interface Asked {
  request: Request;
  query: URLSearchParams;
  body: URLSearchParams;
  ip: string;
  faucets: Faucets;
}

interface Declared<Response extends TSchema> {
  method: Method;
  path: string;
  operationId: string;
  summary: string;
  params?: TProperties;
  query?: TProperties;
  response: Response;
  deprecated?: { replacement: null };
  handle(asked: Asked): Promise<Static<Response>>;
}

/** Longer ones say nothing to a faucet. */
const MAX_BODY = 10_000;

async function textOf(request: Request): Promise<string> {
  try {
    return request.method === 'POST' ? await bodyText(request, MAX_BODY) : '';
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    throw new FaucetError(
      400,
      error.reason === 'too_large' ? 'Request body is too large' : 'Request body is not complete',
    );
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FaucetError(400, 'Body is not valid JSON');
  }
}

/** JSON or a form; what is neither says nothing, and neither does a field of JSON that is no plain value. */
async function bodyOf(request: Request): Promise<URLSearchParams> {
  const text = await textOf(request);
  if (!request.headers.get('content-type')?.includes('json')) return new URLSearchParams(text);
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(parsed(text === '' ? '{}' : text) ?? {})) {
    if (typeof value !== 'object') given.set(name, String(value));
  }
  return given;
}

/** What the routes say of an error, as their clients know it. */
const faucetErrorBody: ErrorBody = (_, error) => ({ error, success: false });

function isOn(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value !== null && value !== 'true' && value !== 'false') {
    throw new FaucetError(400, `querystring/${name} must be boolean`);
  }
  return value === 'true';
}

/** One that is a URL and nothing more in the body, with what to do instead. */
class OnlyInBody extends FaucetError {
  readonly help: string;
  constructor(url: string) {
    const right = `${url.split('?')[0]}?address=<address>`;
    super(400, `POST body is no longer supported, parameters must be passed as query parameters, e.g. ${right}`);
    this.help = `Example curl request: curl -X POST '${right}'`;
  }
}

function addressInQuery({ request, query, body }: Asked): string {
  const given = query.get('address') ?? '';
  if (given !== '') return given;
  if ((body.get('address') ?? '') !== '') throw new OnlyInBody(request.url);
  throw new FaucetError(400, 'address required');
}

function bitcoinSize(query: URLSearchParams): BitcoinSize {
  const [large, xlarge] = [isOn(query, 'large'), isOn(query, 'xlarge')];
  if (large && xlarge) throw new FaucetError(400, 'cannot simultaneously request a large and xlarge amount');
  return large ? 'large' : xlarge ? 'xlarge' : 'usual';
}

function faucetRoute<Response extends TSchema>(declared: Declared<Response>): Route {
  const { method, path, deprecated = null, handle } = declared;
  const { deprecated: _, ...described } = declared;
  return {
    method,
    path,
    deprecated,
    mainThread: true,
    detail: operation({ ...described, ...(deprecated === null ? {} : { deprecated }), tag, etag: null }),
    serve({ respond, faucets, clientAddress, deprecation, now, failure }: RouteContext) {
      const refusal = (error: FaucetError) => {
        const help = error instanceof OnlyInBody ? { help: error.help } : {};
        return respond.json(error.status, { error: error.message, ...help, success: false });
      };
      const answer = async (request: Request): Promise<globalThis.Response> => {
        try {
          const query = new URLSearchParams(queryText(request.url));
          const forwarded = request.headers.get('x-forwarded-for')?.split(',')[0]?.trim() ?? '';
          const ip = forwarded === '' ? clientAddress(request) : forwarded;
          const body = await bodyOf(request);
          return respond.json(200, await handle({ request, query, body, ip, faucets }));
        } catch (error) {
          return error instanceof FaucetError ? refusal(error) : failure(error, request, faucetErrorBody);
        }
      };
      if (deprecated === null) return answer;
      const { gone, mark } = deprecatedRoute(path, [], deprecated, deprecation, respond, now);
      return async (request) => gone(request) ?? mark(await answer(request), request);
    },
  };
}

const BTC_BALANCE = { path: '/extended/v1/faucets/btc/{address}', params: { address } } as const;
const balanceParams = pathReader(BTC_BALANCE.path, BTC_BALANCE.params);

export const faucetRoutes: readonly Route[] = [
  faucetRoute({
    method: 'POST',
    path: '/extended/v1/faucets/stx',
    operationId: 'runFaucetStx',
    summary: 'Test STX: 500, or enough to stake; five times in five minutes, or to stake once in two days',
    query: { address, stacking: flag('As much as staking takes') },
    response: SentStacks,
    handle: async (asked) => ({
      success: true as const,
      ...(await asked.faucets.stx(addressInQuery(asked), isOn(asked.query, 'stacking'), asked.ip)),
    }),
  }),
  faucetRoute({
    method: 'POST',
    path: '/extended/v1/faucets/btc',
    operationId: 'runFaucetBtc',
    summary: 'Regtest BTC: 0.0001, 0.01 if large, 0.5 if xlarge; five times in five minutes',
    query: { address, large: flag('0.01 BTC'), xlarge: flag('0.5 BTC') },
    response: SentBitcoin,
    handle: async ({ query, body, ip, faucets }) => {
      const given = query.get('address') || body.get('address') || '';
      if (given === '') throw new FaucetError(400, 'address required');
      return { success: true as const, ...(await faucets.btc(given, bitcoinSize(query), ip)) };
    },
  }),
  faucetRoute({
    method: 'POST',
    path: '/extended/v1/faucets/sbtc',
    operationId: 'runFaucetSbtc',
    summary: 'Test sBTC; five times in five minutes',
    query: { address },
    response: SentStacks,
    handle: async (asked) => ({
      success: true as const,
      ...(await asked.faucets.sbtc(addressInQuery(asked), asked.ip)),
    }),
  }),
  faucetRoute({
    method: 'GET',
    ...BTC_BALANCE,
    operationId: 'getBtcBalance',
    summary: 'What a regtest address has',
    deprecated: { replacement: null },
    response: Balance,
    handle: async ({ request, faucets }) => ({
      balance: await faucets.btcBalance(balanceParams(request.url).address),
    }),
  }),
];
