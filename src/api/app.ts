/** The table of contents of the API: its conventions in order, then one line per resource. */
import { type AnyElysia, Elysia } from 'elysia';
import type { Snapshots } from '../store/reader.ts';
import { cors } from './conventions/cors.ts';
import { errors, failures, type Log } from './conventions/errors.ts';
import { keptAnswers } from './conventions/kept-answers.ts';
import { responder } from './conventions/respond.ts';
import { docs } from './docs.ts';
import { resource } from './route.ts';
import { status, statusRedirects } from './status.ts';
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
  /** Holds each body against its schema; for tests. */
  checkResponses?: boolean;
}

export function createApp({ snapshots, version, log, checkResponses = false }: ApiOptions): AnyElysia {
  const respond = responder(version);
  const failure = failures(respond, log);
  const context = { snapshots, respond, failure, kept: keptAnswers(), checkResponses };
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
    .use(docs(respond, version));
}
