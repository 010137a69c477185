/** The API as one application: its conventions in order, then one line per resource. */

import { type AnyElysia, Elysia } from 'elysia';
import type { Steering } from '../../api/devnet/family.ts';
import { devnetRoutes } from '../../api/devnet/routes.ts';
import { isReplaced, nodeRoutes, type PrefixForward, prefixRoutes, requireFreePrefixes } from '../../api/forwarded.ts';
import { metadataRoutes } from '../../api/metadata.ts';
import { names, namesOfAddress, namespaces } from '../../api/names/names.ts';
import { type Operations, operationRoutes } from '../../api/operations.ts';
import answers from '../../api/shared/examples/answers.json' with { type: 'json' };
import { blocksAndForks } from '../../api/stackside/blocks.ts';
import { bnsNames } from '../../api/stackside/bns-names.ts';
import { contractSearch } from '../../api/stackside/contract-search.ts';
import { directories } from '../../api/stackside/directories.ts';
import { principalHistory } from '../../api/stackside/principal-history.ts';
import { searches } from '../../api/stackside/search.ts';
import { type ServerReadings, serverRoutes } from '../../api/stackside/server.ts';
import { stakingRewards } from '../../api/stackside/staking-rewards.ts';
import { type SystemApi, systemRoutes } from '../../api/stackside/system.ts';
import { mempoolState, rawTransactions } from '../../api/stackside/transactions.ts';
import { info, status, statusRedirects } from '../../api/status.ts';
import { addressBalances, addressTransactions, addressTransfers } from '../../api/v1/addresses.ts';
import { blocks as blocksV1, blockTransactions, microblocks } from '../../api/v1/blocks.ts';
import { burnRewards } from '../../api/v1/burn-rewards.ts';
import { contracts as contractsV1 } from '../../api/v1/contracts.ts';
import { faucetRoutes } from '../../api/v1/faucets.ts';
import { feeRate, mempool as mempoolV1 } from '../../api/v1/mempool.ts';
import { search } from '../../api/v1/search.ts';
import { stacking, stackingRedirects } from '../../api/v1/stacking.ts';
import { stxSupplies, tokensV1 } from '../../api/v1/tokens.ts';
import { transactionEvents, transactions as transactionsV1 } from '../../api/v1/transactions.ts';
import { addressBalancesV2, addressTransactionsV2 } from '../../api/v2/addresses.ts';
import { blocks as blocksV2, burnBlocks } from '../../api/v2/blocks.ts';
import { mempoolFees } from '../../api/v2/mempool.ts';
import { poxCycles, poxTransactions } from '../../api/v2/pox-cycles.ts';
import { contractRoutes } from '../../api/v2/smart-contracts.ts';
import { balanceChanges, balances, balancesOfMany, principals } from '../../api/v3/principals.ts';
import { smartContracts } from '../../api/v3/smart-contracts.ts';
import { staking } from '../../api/v3/staking.ts';
import { tokens, transfers } from '../../api/v3/tokens.ts';
import {
  blocks,
  manyTransactions,
  mempool,
  search as transactionSearch,
  transactions,
} from '../../api/v3/transactions.ts';
import type { Clock } from '../../base/clock.ts';
import { atMost, type Turns } from '../../base/turns.ts';
import { consoleRoutes, notFoundPage } from '../../console/routes.ts';
import { type Faucets, noFaucets } from '../../faucets/faucets.ts';
import { type ChangeServing, changeRoutes } from '../../hooks/routes/changes.ts';
import { operatorAccess } from '../../hooks/routes/family.ts';
import { type HookApi, hookRoutes } from '../../hooks/routes/hooks.ts';
import { sessionRoutes } from '../../hooks/routes/session.ts';
import { cors } from '../../http/cors.ts';
import type { DeprecationPolicy } from '../../http/deprecation.ts';
import { docs } from '../../http/docs.ts';
import { type ApiEvent, errors, failures } from '../../http/errors.ts';
import { tagOf } from '../../http/etag.ts';
import { type Forward, markPeer, passedPeer } from '../../http/forward.ts';
import { monotonicReads } from '../../http/heights.ts';
import type { AskAccount } from '../../http/history.ts';
import type { AddressOf } from '../../http/hosts.ts';
import type { ApiDescription } from '../../http/openapi.ts';
import type { RateLimiter } from '../../http/rate-limit.ts';
import { responder } from '../../http/respond.ts';
import { responseCache } from '../../http/response-cache.ts';
import { plugin, type RequestMetrics, type Route, type RouteContext, withHeadAnswers } from '../../http/route.ts';
import { REALTIME_PATHS } from '../../live/realtime.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';

/** Parts of the application that an API thread lacks: it forwards the requests that need them. */
export interface MainThreadParts {
  server: ServerReadings | null;
  /** The operator's functions; null if this process doesn't write. */
  system: SystemApi | null;
  faucets: Faucets;
  /** Null if this process doesn't write. */
  hooks: HookApi | null;
  /** Controls the simulated node; null if the server was started without one. */
  steering: Steering | null;
}

export const noMainThreadParts: MainThreadParts = {
  server: null,
  system: null,
  faucets: noFaucets,
  hooks: null,
  steering: null,
};

export interface ApiOptions extends MainThreadParts {
  snapshots: Snapshots;
  /** The version in the format of `versionText`. */
  version: string;
  log: (event: ApiEvent) => void;
  deprecation: DeprecationPolicy;
  /** Answers /health, /ready and /metrics. */
  operations: Operations;
  metrics: RequestMetrics;
  /** Forwards requests to the main thread; null in the main thread. */
  mainThread: Forward | null;
  /** A secret of this process that identifies requests of its threads. */
  internalToken: string;
  nodeProxy: Forward;
  /** Requests untouched accounts from the node; null in tests without one. */
  askAccount: AskAccount | null;
  /** Path prefixes that other services answer. One below `/metadata` takes the place of the routes there. */
  prefixes: readonly PrefixForward[];
  /** Whether the server requests token metadata from the node. */
  asksAboutTokens: boolean;
  /** Contract of the second name system; null for the contract of the network. */
  namesContract: string | null;
  /** The functions of the server that routes for chain changes need. */
  changes: ChangeServing;
  /** Whether chainhooks are managed without keys. */
  openHooks: boolean;
  clock: Clock;
  /** Divides the thread's time among its work for clients. */
  turns: Turns;
  /** Counts the requests of clients; null if they have no limits. */
  limiter: RateLimiter | null;
  addressOf: AddressOf;
}

type ResourceOptions = Pick<
  ApiOptions,
  'version' | 'clock' | 'faucets' | 'server' | 'asksAboutTokens' | 'namesContract'
>;

/** All routes, by resource, in the order of the reference. */
export const resources = (options: ResourceOptions): readonly (readonly Route[])[] => [
  status(options.version),
  statusRedirects,
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
  blocksV2(options.clock.now),
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
  faucetRoutes(options.faucets),
  staking,
  stacking,
  stackingRedirects,
  burnRewards,
  poxCycles,
  poxTransactions,
  blocksAndForks,
  mempoolState,
  searches(options.namesContract),
  directories,
  bnsNames(options.namesContract),
  rawTransactions,
  serverRoutes(options.server),
  principalHistory,
  stakingRewards,
  contractSearch,
  transactionSearch,
  balancesOfMany,
  manyTransactions,
  metadataRoutes(options.version, options.asksAboutTokens),
];

/** Maximum number of running long reads (of several turns) in a thread. */
const MAX_LONG_READS = 16;

/** The API as one Elysia application, with every route. @throws OperatorError for a prefix that would hide a route */
export function createApp(options: ApiOptions): AnyElysia {
  const { snapshots, version, log, deprecation, operations, metrics, mainThread, internalToken, prefixes } = options;
  const { hooks, system, steering, nodeProxy, openHooks, clock, turns, limiter, addressOf } = options;
  const respond = responder(version);
  const failure = failures(respond, log);
  const clientAddress = (request: Request): string =>
    passedPeer(request.headers, internalToken) ??
    addressOf(app.server?.requestIP(request)?.address ?? '', request.headers);
  const markClient =
    (forward: Forward): Forward =>
    (request) => {
      markPeer(request.headers, internalToken, clientAddress(request));
      return forward(request);
    };
  const families = resources(options).map((routes) => routes.filter(({ path }) => !isReplaced(path, prefixes)));
  const context: RouteContext = {
    snapshots,
    heights: monotonicReads({ snapshots, clock, turns }),
    respond,
    tag: tagOf(version),
    failure,
    cache: responseCache(),
    deprecation,
    now: clock.now,
    turns,
    longRead: atMost(MAX_LONG_READS),
    metrics,
    clientAddress,
    limiter,
    askAccount: options.askAccount,
    standing: async () => (await operations.readiness()).reason,
    ...(mainThread === null ? {} : { mainThread: markClient(mainThread) }),
  };
  families.push([...changeRoutes({ snapshots, clock, turns, ...options.changes })]);
  const managing = [
    ...hookRoutes(version, hooks),
    ...sessionRoutes(hooks),
    ...systemRoutes(system, operatorAccess(hooks)),
  ];
  // With standard host names, Elysia would look for the path from the 12th character of the URL on, which is wrong for `api`.
  const app: AnyElysia = new Elysia({ systemRouter: false, handler: { standardHostname: false } })
    .wrap(withHeadAnswers)
    .use(errors(respond, failure, notFoundPage))
    .use(cors(respond, { hooks: managing, others: families.flat() }, openHooks))
    .use(operationRoutes(operations, respond));
  for (const routes of [...families, managing, consoleRoutes, devnetRoutes(steering), nodeRoutes(nodeProxy)])
    app.use(plugin(context, routes));
  app.use(docs(respond, version, apiDescription));
  requireFreePrefixes(prefixes, [...app.routes.map(({ path }) => path), ...REALTIME_PATHS]);
  return app.use(plugin(context, prefixRoutes(prefixes)));
}

/** The introductions of the OpenAPI document: each tag of a route once, in the order of the document. */
const tags: Readonly<Record<string, string>> = {
  Status: 'The version of the server and how far it has indexed the chain.',
  Transactions: 'Transactions of the canonical chain, pending and dropped ones, and their events.',
  Blocks: 'Blocks of the canonical chain by height, hash, time, tenure or Bitcoin block, and their transactions.',
  'Burn blocks': 'Bitcoin blocks that anchor blocks of the canonical chain, and their payments to stackers.',
  Mempool: 'Pending transactions and the fees they offer.',
  Principals:
    'Standard addresses and contracts: their transactions, balances, transfers, nonces and stakes. An unknown principal is not an error; its lists are empty.',
  'Smart contracts': 'Contracts, the status of their deployments, and the events they print.',
  Tokens: 'Supply, holders and history of STX, fungible tokens and non-fungible tokens.',
  'Token metadata':
    'Metadata from token contracts (SIP-009, SIP-010, SIP-013), in the format of the separate metadata service. Any contract may have any name and symbol. Each path also works without `v1`.',
  Staking: 'Staking with pox-5: bonds, registrations and signers.',
  Stacking: 'Stacking with pox-2 to pox-4, and the reward cycles of every version.',
  'Burn rewards': 'Rewards that Bitcoin blocks paid to stackers.',
  Names: 'The Bitcoin name system (BNS): names, subdomains, namespaces, zonefiles and prices.',
  Search: 'The type of object behind an id.',
  Faucets: 'Funds for test networks. Faucets are off unless the operator has configured them.',
  Fees: 'Fee estimates of v1.',
  Info: 'Constants of the networks.',
  Chainhooks:
    'A chainhook sends an HTTP POST to your URL whenever a block contains something your filters match. These routes register and manage chainhooks and their deliveries. They need a key unless the operator opened them.',
  Stackside:
    'Routes that only Stackside has: account histories, several subjects in one request, and the state of the server.',
  'Simulated node':
    'Steering of the chain of `stackside devnet`: blocks, forks, time, funds and transactions, for programs on the same machine. Every other server answers 404 with the code `NOT_A_DEVNET`.',
  Addresses: 'Balances and transactions of addresses in v1 and v2. The routes of principals replace them.',
  'Transactions (v1)': 'Transactions and events in the format of v1.',
  'Blocks (v1)': 'Blocks in the format of v1.',
  'Blocks (v2)': 'Transactions of a block in the format of v1, by the path of v2.',
  'Mempool (v1)': 'Pending transactions in the format of v1, and statistics of the mempool.',
  'Microblocks (v1)': 'Microblocks, which only Stacks 2.x had.',
  'Smart contracts (v1)': 'Contracts with their interface, and the events they print, in the format of v1.',
};

const apiDescription: ApiDescription = {
  title: 'Stackside',
  description:
    'Chain data of the Stacks blockchain: blocks, transactions, principals, tokens. The examples come from a simulated chain; their lists are cut to one item. If the operator limits clients, responses have `RateLimit` and `RateLimit-Policy`, and requests above the limit get 429 with `Retry-After`.',
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
  examples: answers,
};
