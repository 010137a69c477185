/** The table of contents of the API: its conventions in order, then one line per resource. */
import { type AnyElysia, Elysia } from 'elysia';
import { type Faucets, noFaucets } from '../faucets/faucets.ts';
import type { HookApi } from '../hooks/routes/hook-route.ts';
import { hookRoutes } from '../hooks/routes/routes.ts';
import { type RequestTimer, untimed } from '../metrics/requests.ts';
import type { Snapshots } from '../store/reader.ts';
import { cors } from './conventions/cors.ts';
import { type DeprecationPolicy, NO_SUNSET } from './conventions/deprecation.ts';
import { errors, failures, type Log } from './conventions/errors.ts';
import { tagOf } from './conventions/etag.ts';
import { keptAnswers } from './conventions/kept-answers.ts';
import { responder } from './conventions/respond.ts';
import { docs } from './docs.ts';
import { markPeer, passedPeer } from './forward.ts';
import { names, namesOfAddress } from './names/names.ts';
import { namespaces } from './names/namespaces.ts';
import { type NodeProxy, nodeRoutes } from './node-routes.ts';
import { type Operations, operationRoutes } from './operations.ts';
import { type Route, type RouteContext, resource } from './route.ts';
import { status, statusRedirects } from './status.ts';
import { addressBalances } from './v1/address-balances.ts';
import { addressTransactions } from './v1/address-transactions.ts';
import { addressTransfers } from './v1/address-transfers.ts';
import { blockTransactions } from './v1/block-transactions.ts';
import { blocks as blocksV1 } from './v1/blocks.ts';
import { burnRewards } from './v1/burn-rewards.ts';
import { contracts as contractsV1 } from './v1/contracts.ts';
import { faucetRoutes } from './v1/faucets.ts';
import { feeRate } from './v1/fee-rate.ts';
import { info } from './v1/info.ts';
import { mempool as mempoolV1 } from './v1/mempool.ts';
import { microblocks } from './v1/microblocks.ts';
import { search } from './v1/search.ts';
import { stacking, stackingRedirects } from './v1/stacking.ts';
import { stxSupplies } from './v1/stx-supply.ts';
import { tokensV1 } from './v1/tokens.ts';
import { transactionEvents } from './v1/transaction-events.ts';
import { transactions as transactionsV1 } from './v1/transactions.ts';
import { addressBalancesV2 } from './v2/address-balances.ts';
import { addressTransactionsV2 } from './v2/address-transactions.ts';
import { blocks as blocksV2 } from './v2/blocks.ts';
import { burnBlocks } from './v2/burn-blocks.ts';
import { mempoolFees } from './v2/mempool.ts';
import { poxCycles } from './v2/pox-cycles.ts';
import { poxTransactions } from './v2/pox-transactions.ts';
import { contractRoutes } from './v2/smart-contracts.ts';
import { balanceChanges } from './v3/balance-changes.ts';
import { balances } from './v3/balances.ts';
import { blocks } from './v3/blocks.ts';
import { mempool } from './v3/mempool.ts';
import { principals } from './v3/principals.ts';
import { smartContracts } from './v3/smart-contracts.ts';
import { staking } from './v3/staking.ts';
import { tokens } from './v3/tokens.ts';
import { transactions } from './v3/transactions.ts';
import { transfers } from './v3/transfers.ts';

export interface ApiOptions {
  snapshots: Snapshots;
  /** As `versionText` makes it. */
  version: string;
  log: Log;
  deprecation?: DeprecationPolicy;
  /** Answers /health, /ready and /metrics, where they are served here. */
  operations?: Operations;
  timer?: RequestTimer;
  faucets?: Faucets;
  /** In one of several threads: answers what only the main one can. */
  mainThread?: (request: Request) => Promise<Response>;
  /** What the threads of this process know and nobody else, where there are several. */
  passage?: string;
  /** Answers what is the node's, where there is one. */
  nodeProxy?: NodeProxy;
  /** Null, or not given, where this process doesn't write. */
  hooks?: HookApi | null;
  /** Whether chainhooks are managed without keys. */
  openHooks?: boolean;
  /** Holds each body against its schema; for tests. */
  checkResponses?: boolean;
  /** The clock, in Unix milliseconds. */
  now?: () => number;
}

/**
 * Every route, by resource, in the order of the reference.
 * @param now the clock, in Unix milliseconds
 */
export const resources = (version: string, now: () => number): readonly (readonly Route[])[] => [
  status(version),
  transactions,
  blocks,
  mempool,
  principals,
  balances,
  balanceChanges,
  transfers,
  smartContracts,
  tokens,
  transactionsV1,
  transactionEvents,
  blockTransactions,
  blocksV1,
  microblocks,
  mempoolV1,
  contractsV1,
  search,
  addressBalances,
  addressTransfers,
  addressTransactions,
  tokensV1,
  blocksV2(now),
  burnBlocks,
  mempoolFees,
  contractRoutes,
  addressBalancesV2,
  addressTransactionsV2,
  stxSupplies,
  feeRate,
  info,
  names,
  namesOfAddress,
  namespaces,
  faucetRoutes,
  staking,
  stacking,
  burnRewards,
  poxCycles,
  poxTransactions,
];

export function createApp(options: ApiOptions): AnyElysia {
  const { snapshots, version, log, deprecation = NO_SUNSET, checkResponses = false, now = Date.now } = options;
  const { operations, nodeProxy, timer = untimed, faucets = noFaucets, hooks = null, mainThread } = options;
  const { openHooks = false, passage = crypto.randomUUID() } = options;
  const respond = responder(version);
  const failure = failures(respond, log);
  const clientAddress = (request: Request): string =>
    passedPeer(request.headers, passage) ?? app.server?.requestIP(request)?.address ?? '';
  const passOn = (request: Request, answer: (request: Request) => Promise<Response>): Promise<Response> => {
    markPeer(request.headers, passage, clientAddress(request));
    return answer(request);
  };
  const context: RouteContext = {
    snapshots,
    respond,
    tag: tagOf(version),
    failure,
    kept: keptAnswers(),
    deprecation,
    now,
    timer,
    faucets,
    clientAddress,
    ...(mainThread === undefined ? {} : { mainThread: (request) => passOn(request, mainThread) }),
    checkResponses,
  };
  // The framework looks for the path from the 12th character of the URL on, behind any host but one such as `api`.
  const app: AnyElysia = new Elysia({ systemRouter: false, handler: { standardHostname: false } })
    .use(errors(respond, failure))
    .use(cors(respond, openHooks))
    .use(statusRedirects(respond))
    .use(operations === undefined ? new Elysia() : operationRoutes(operations, respond))
    .use(stackingRedirects(respond));
  for (const routes of resources(version, now)) app.use(resource(context, routes));
  app.use(resource(context, hookRoutes(version, hooks)));
  if (nodeProxy !== undefined) app.use(nodeRoutes(nodeProxy, respond, timer));
  return app.use(docs(respond, version));
}
