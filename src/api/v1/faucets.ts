/** Faucets of test networks. Errors have the form that clients of these routes expect: `{error, success: false}`. */
import { Type } from '@sinclair/typebox';
import { parsedJson } from '../../base/json.ts';
import { FaucetError } from '../../faucets/faucet-error.ts';
import type { BitcoinSize, Faucets } from '../../faucets/faucets.ts';
import { bareErrors, type ErrorShape } from '../../http/errors.ts';
import { textReader } from '../../http/parameters.ts';
import { BodyError, bodyText } from '../../http/request-body.ts';
import { queryText } from '../../http/request-url.ts';
import { type Route, route, WITHOUT_INDEX } from '../../http/route.ts';
import { example } from '../shared/examples/examples.ts';
import { named } from '../shared/fields.ts';
import { PrincipalParameter } from '../shared/parameters.ts';

const Success = Type.Literal(true);
const SentStacks = named('FaucetTransaction', {
  success: Success,
  txId: Type.String({ description: 'Id of the transaction' }),
  txRaw: Type.String({ description: 'Serialized transaction in hex, without 0x' }),
});
const SentBitcoin = named('BitcoinFaucetTransaction', {
  success: Success,
  txid: Type.String({ description: 'Id of the transaction, as Bitcoin explorers show it' }),
  raw_tx: Type.String({ description: 'Serialized transaction in hex' }),
});
const Balance = named('FaucetBalance', { balance: Type.Number({ description: 'Balance in BTC' }) });

const address = Type.String({ description: 'Address that receives the funds', examples: example('principal') });
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

/** Maximum characters of a body; no valid request has more. */
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

function parseBody(text: string): unknown {
  const value = parsedJson(text);
  if (value === undefined) throw new FaucetError(400, 'Body is not valid JSON');
  return value;
}

/** Parses a body as JSON or a form. Other bodies, and JSON members that are objects or lists, are ignored. */
async function bodyOf(request: Request): Promise<URLSearchParams> {
  const text = await textOf(request);
  if (!request.headers.get('content-type')?.includes('json')) return new URLSearchParams(text);
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(parseBody(text === '' ? '{}' : text) ?? {})) {
    if (typeof value !== 'object') parameters.set(name, String(value));
  }
  return parameters;
}

function isOn(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value !== null && value !== 'true' && value !== 'false') {
    throw new FaucetError(400, `querystring/${name} must be boolean`);
  }
  return value === 'true';
}

const readPrincipal = textReader(PrincipalParameter);

/** @throws FaucetError without an address, ParameterError if it isn't valid */
function addressInQuery({ url, query, body }: FaucetRequest): string {
  const address = query.get('address') ?? '';
  if (address !== '') return readPrincipal(address, { location: 'querystring', path: ['address'] }) as string;
  if ((body.get('address') ?? '') === '') throw new FaucetError(400, 'address required');
  const right = `${url.split('?')[0]}?address=<address>`;
  const message = `POST body is no longer supported, parameters must be passed as query parameters, e.g. ${right}`;
  throw new FaucetError(400, message, { help: `Example curl request: curl -X POST '${right}'` });
}

function bitcoinSize(query: URLSearchParams): BitcoinSize {
  const [large, xlarge] = [isOn(query, 'large'), isOn(query, 'xlarge')];
  if (large && xlarge) throw new FaucetError(400, 'cannot simultaneously request a large and xlarge amount');
  if (large) return 'large';
  return xlarge ? 'xlarge' : 'normal';
}

const faucetErrors: ErrorShape = {
  ...bareErrors,
  schema: named('FaucetProblem', {
    error: Type.String({ description: 'What is wrong' }),
    help: Type.Optional(Type.String({ description: 'Where to put the parameters of a request' })),
    success: Type.Literal(false),
  }),
  body: (error) => ({
    error: error.message,
    ...(error instanceof FaucetError && error.help !== undefined ? { help: error.help } : {}),
    success: false,
  }),
  unavailable: { ...bareErrors.unavailable, success: false },
  failed: { ...bareErrors.failed, success: false },
};

type FaucetRequest = Awaited<ReturnType<typeof parseRequest>>;

/** Parses the parameters, which the declarations only describe: clients send them in the query or in the body. */
async function parseRequest({ request, clientAddress }: { request: Request; clientAddress: () => string }) {
  const { url } = request;
  // Once the body is read, the connection may be closed, and its address unknown.
  const ip = clientAddress();
  return { url, query: new URLSearchParams(queryText(url)), body: await bodyOf(request), ip };
}

const family = {
  tag: 'Faucets',
  errors: faucetErrors,
  refusals: {
    403: 'The faucet is off, or the chain is not one of a test network',
    429: 'Too many requests for the address',
    503: "The node can't be reached, or the faucet has too little",
  },
  ...WITHOUT_INDEX,
  mainThread: true,
} as const;

/** The routes that send test coins. */
export const faucetRoutes = (faucets: Faucets): readonly Route[] => [
  route({
    ...family,
    method: 'POST',
    path: '/extended/v1/faucets/stx',
    operationId: 'runFaucetStx',
    summary: 'Send test STX',
    description:
      'Sends 500 test STX to an address, or enough to stake with `stacking`, and returns the transaction. The limit per address is five requests in five minutes, and one in two days with `stacking`.',
    described: { query: { address, stacking: flag('Whether to send enough STX to stake') } },
    response: SentStacks,
    handle: async (request) => {
      const faucet = faucets.stx();
      const faucetRequest = await parseRequest(request);
      const payout = await faucet.send(
        addressInQuery(faucetRequest),
        isOn(faucetRequest.query, 'stacking'),
        faucetRequest.ip,
      );
      return { success: true as const, ...payout };
    },
  }),
  route({
    ...family,
    method: 'POST',
    path: '/extended/v1/faucets/btc',
    operationId: 'runFaucetBtc',
    summary: 'Send regtest BTC',
    description:
      'Sends 0.0001 regtest BTC to an address (0.01 with `large`, 0.5 with `xlarge`) and returns the transaction. The limit per address is five requests in five minutes.',
    described: { query: { address, large: flag('Whether to send 0.01 BTC'), xlarge: flag('Whether to send 0.5 BTC') } },
    response: SentBitcoin,
    handle: async (request) => {
      const faucet = faucets.btc();
      const { query, body, ip } = await parseRequest(request);
      const address = query.get('address') || body.get('address') || '';
      if (address === '') throw new FaucetError(400, 'address required');
      return { success: true as const, ...(await faucet.send(address, bitcoinSize(query), ip)) };
    },
  }),
  route({
    ...family,
    method: 'POST',
    path: '/extended/v1/faucets/sbtc',
    operationId: 'runFaucetSbtc',
    summary: 'Send test sBTC',
    description:
      'Sends test sBTC to an address and returns the transaction. The limit per address is five requests in five minutes.',
    described: { query: { address } },
    response: SentStacks,
    handle: async (request) => {
      const faucet = faucets.sbtc();
      const faucetRequest = await parseRequest(request);
      return { success: true as const, ...(await faucet.send(addressInQuery(faucetRequest), faucetRequest.ip)) };
    },
  }),
  route({
    ...family,
    path: '/extended/v1/faucets/btc/{address}',
    operationId: 'getBtcBalance',
    summary: 'Regtest BTC balance',
    description: 'Returns the balance of a regtest Bitcoin address in BTC.',
    params: {
      address: Type.String({ description: 'Bitcoin address of regtest', examples: example('bitcoin_address') }),
    },
    refusals: { 403: family.refusals[403], 503: family.refusals[503] },
    deprecated: { replacement: null },
    response: Balance,
    handle: async ({ params }) => ({ balance: await faucets.btc().balance(params.address) }),
  }),
];
