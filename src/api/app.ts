/** The table of contents of the API: its conventions in order, then one line per resource. */
import { type AnyElysia, Elysia } from 'elysia';
import type { Snapshots } from '../store/reader.ts';
import { cors } from './conventions/cors.ts';
import { type DeprecationPolicy, NO_SUNSET } from './conventions/deprecation.ts';
import { errors, failures, type Log } from './conventions/errors.ts';
import { keptAnswers } from './conventions/kept-answers.ts';
import { responder } from './conventions/respond.ts';
import { docs } from './docs.ts';
import { resource } from './route.ts';
import { status, statusRedirects } from './status.ts';
import { blocks as blocksV2 } from './v2/blocks.ts';
import { burnBlocks } from './v2/burn-blocks.ts';
import { mempoolFees } from './v2/mempool.ts';
import { contractRoutes } from './v2/smart-contracts.ts';
import { balanceChanges } from './v3/balance-changes.ts';
import { balances } from './v3/balances.ts';
import { blocks } from './v3/blocks.ts';
import { mempool } from './v3/mempool.ts';
import { principals } from './v3/principals.ts';
import { smartContracts } from './v3/smart-contracts.ts';
import { tokens } from './v3/tokens.ts';
import { transactions } from './v3/transactions.ts';
import { transfers } from './v3/transfers.ts';

export interface ApiOptions {
  snapshots: Snapshots;
  /** As `versionText` makes it. */
  version: string;
  log: Log;
  deprecation?: DeprecationPolicy;
  /** Holds each body against its schema; for tests. */
  checkResponses?: boolean;
  /** The clock, in Unix milliseconds. */
  now?: () => number;
}

export function createApp(options: ApiOptions): AnyElysia {
  const { snapshots, version, log, deprecation = NO_SUNSET, checkResponses = false, now = Date.now } = options;
  const respond = responder(version);
  const failure = failures(respond, log);
  const context = { snapshots, respond, failure, kept: keptAnswers(), deprecation, now, checkResponses };
  // The framework looks for the path from the 12th character of the URL on, behind any host but one such as `api`.
  return new Elysia({ systemRouter: false, handler: { standardHostname: false } })
    .use(errors(respond, failure))
    .use(cors(respond))
    .use(statusRedirects(respond))
    .use(resource(context, status(version)))
    .use(resource(context, transactions))
    .use(resource(context, blocks))
    .use(resource(context, mempool))
    .use(resource(context, principals))
    .use(resource(context, balances))
    .use(resource(context, balanceChanges))
    .use(resource(context, transfers))
    .use(resource(context, smartContracts))
    .use(resource(context, tokens))
    .use(resource(context, blocksV2(now)))
    .use(resource(context, burnBlocks))
    .use(resource(context, mempoolFees))
    .use(resource(context, contractRoutes))
    .use(docs(respond, version));
}
