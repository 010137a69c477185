/** Checkpoints are a function of the chain, and sums of an account's history at any height equal a recount of its blocks. */
import type { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Block } from '../../src/chain/block.ts';
import { effectsOf, reverseEffects } from '../../src/chain/effects.ts';
import { involvementsOf } from '../../src/chain/involvements.ts';
import { memoTransfers } from '../../src/chain/memo-transfers.ts';
import { openWriter } from '../../src/store/files/database.ts';
import type { AccountState, TokenSums } from '../../src/store/model/account.ts';
import { accountStates } from '../../src/store/queries/accounts/account-states.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { storedEffects } from '../support/data/stored-effects.ts';
import { tablesThrough } from '../support/data/tables.ts';
import { blocks as anyBlocks } from '../support/events/arbitrary-block.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { checkpointProblems } from '../support/recounts/checkpoints.ts';

const CASES = 6;
const shortened = <T extends { nonce: bigint }>(party: T): T => ({ ...party, nonce: BigInt.asUintN(63, party.nonce) });
/** Blocks whose nonces fit into a row. */
const blocks = anyBlocks().map((list) =>
  list.map((block) => ({
    ...block,
    transactions: block.transactions.map(({ sender, sponsor, ...rest }) => ({
      ...rest,
      sender: shortened(sender),
      sponsor: sponsor === null ? null : shortened(sponsor),
    })),
  })),
);

interface Account extends AccountState {
  tokens: Map<string, TokenSums>;
}

/** Computes an account only from the blocks. */
function accountAfter(chain: readonly Block[], principal: string): Account {
  const counts = { transactions: 0, sponsoredOnly: 0, events: 0, locks: 0, inbound: 0 };
  const sums = { initial: 0n, sent: 0n, received: 0n, fees: 0n, mined: 0n };
  const account: Account = { ...counts, ...sums, lastNonce: null, tokens: new Map() };
  const countNonce = (nonce: bigint) => {
    if (account.lastNonce === null || nonce > account.lastNonce) account.lastNonce = nonce;
  };
  for (const { transactions, minerRewards } of chain) {
    for (const transaction of transactions) {
      const part = [...involvementsOf(transaction)][0]?.get(principal);
      account.inbound += memoTransfers(transaction).filter(({ recipient }) => recipient === principal).length;
      const { payload } = transaction;
      if (payload.type === 'token_transfer' && payload.recipient === principal) account.inbound += 1;
      for (const event of transaction.events) {
        if (event.kind === 'stx_lock') {
          const isPox = /^pox(-[2-5])?$/.test(event.contractName);
          if (event.address === principal && isPox) account.locks += 1;
          continue;
        }
        if (!('action' in event)) continue;
        if (event.sender !== principal && event.recipient !== principal) continue;
        account.events += 1;
        const units = event.kind === 'nft' ? 1n : BigInt(event.amount);
        const token = event.kind === 'stx' ? null : `${event.kind} ${event.asset}`;
        const sums = token === null ? account : (account.tokens.get(token) ?? { sent: 0n, received: 0n });
        if (token !== null) account.tokens.set(token, sums);
        if (event.sender === principal) sums.sent += units;
        if (event.recipient === principal) sums.received += units;
      }
      if (part === undefined) continue;
      account.transactions += 1;
      const { sender, sponsor, fee, bitcoinOperation } = transaction;
      if ((sponsor ?? sender).address === principal) account.fees += fee;
      if (sender.address === principal && !bitcoinOperation) countNonce(sender.nonce);
      if (sponsor?.address === principal) countNonce(sponsor.nonce);
      if (part.sponsorOnly) account.sponsoredOnly += 1;
    }
    for (const reward of minerRewards) {
      if (reward.recipient !== principal) continue;
      const { coinbase, feesAnchored, feesStreamedConfirmed, feesStreamedProduced } = reward;
      account.mined += coinbase + feesAnchored + feesStreamedConfirmed + feesStreamedProduced;
    }
  }
  return account;
}

/** The lists of an account whose totals have separate queries. */
const totals = ['transactions', 'moreThanSponsored', 'eventsAndLocks', 'inbound'] as const;

function accountsOf(db: Database, height: number): Record<string, Account> {
  const states = accountStates(db);
  const identifiers = db.query<{ id: number; identifier: string }, []>('SELECT * FROM assets').all();
  const assets = new Map(identifiers.map((row) => [row.id, row.identifier]));
  const principals = db.query<{ id: number; address: string }, []>('SELECT * FROM principals').all();
  return Object.fromEntries(
    principals.map(({ id, address }) => {
      const tokens = states
        .tokens(id, height)
        .map(({ token, assetId, ...sums }) => [`${token === 1 ? 'ft' : 'nft'} ${assets.get(assetId)}`, sums] as const);
      const state = states.at(id, height);
      const { transactions, sponsoredOnly, events, locks, inbound } = state;
      const expected = [transactions, transactions - sponsoredOnly, events + locks, inbound];
      expect(totals.map((list) => states.total(id, height, list))).toEqual(expected);
      return [address, { ...state, tokens: new Map(tokens) }];
    }),
  );
}

test("accounts at any height equal a recount of the blocks up to it, and undone blocks keep the other chain's checkpoints", () => {
  using directory = dataDirectory();
  using db = openWriter(directory.path);
  const seen = new Seen({ checkpoints: CASES / 2, tokenCheckpoints: CASES / 2 });
  assertProperty(
    fc.property(blocks, fc.integer({ min: 1, max: 7 }), (chain, every) => {
      db.run('BEGIN');
      try {
        const apply = storedEffects(db, { checkpointEvery: every });
        const stages = [tablesThrough(db)];
        for (const block of chain) {
          apply(effectsOf(block));
          stages.push(tablesThrough(db));
        }
        const last = stages.at(-1);
        seen.add('checkpoints', last?.account_checkpoints?.length);
        seen.add('tokenCheckpoints', last?.token_checkpoints?.length);
        expect([...checkpointProblems(db, every)]).toEqual([]);
        for (const [index, { height }] of chain.entries()) {
          for (const [principal, account] of Object.entries(accountsOf(db, height))) {
            const expected = accountAfter(chain.slice(0, index + 1), principal);
            expect({ height, principal, account }).toEqual({ height, principal, account: expected });
          }
        }
        for (const block of chain.toReversed()) {
          expect(tablesThrough(db)).toEqual(stages.pop()!);
          apply(reverseEffects(effectsOf(block)));
        }
        expect(tablesThrough(db)).toEqual(stages.pop()!);
      } finally {
        db.run('ROLLBACK');
      }
    }),
    { seen, cases: CASES },
  );
});
