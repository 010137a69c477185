/** What v1 and v2 ask of addresses and tokens, by the texts that name them. */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import type { Heights, TokenHistory } from '../model.ts';
import type { Reader } from '../reader.ts';
import { TOKEN } from '../rows.ts';
import { prepared } from '../statement.ts';
import { accountStates } from './account-states.ts';
import { addressEventQueries } from './address-events.ts';
import { addressTransactionQueries, positionsIn } from './address-transactions.ts';
import type { DetailQueries } from './details.ts';
import { holderListQueries } from './holder-lists.ts';
import { inboundTransferQuery } from './inbound-transfers.ts';
import type { MempoolQueries } from './mempool.ts';
import { nftListQueries } from './nft-lists.ts';
import { LAST_HEIGHT } from './places.ts';

export const sql = {
  principal: 'SELECT id FROM principals WHERE address = ?1',
  asset: 'SELECT id FROM assets WHERE identifier = ?1',
  identifier: 'SELECT identifier FROM assets WHERE id = ?1',
};

/** No principal or asset has this number: what is asked of it is empty. */
const NONE = 0;

export interface AddressReaders {
  addresses: Reader['addresses'];
  tokenLists: Reader['tokenLists'];
}

/** Kinds of events that move assets or lock STX. */
const MOVES = ['stx', 'ft', 'nft', 'stx_lock'] as const;

export function addressReaders(db: Database, details: DetailQueries, mempool: MempoolQueries): AddressReaders {
  const principalId = prepared<{ id: number }, [string]>(db, sql.principal);
  const assetId = prepared<{ id: number }, [string]>(db, sql.asset);
  const identifier = prepared<{ identifier: string }, [number]>(db, sql.identifier);
  const states = accountStates(db);
  const events = addressEventQueries(db);
  const transactions = addressTransactionQueries(db, details, events);
  const inbound = inboundTransferQuery(db);
  const holders = holderListQueries(db);
  const nfts = nftListQueries(db, details);

  const principalOf = (address: string): number => principalId.get(address)?.id ?? NONE;
  const assetOf = (asset: string): number => assetId.get(asset)?.id ?? NONE;
  const untilOf = (height: number): number => Math.min(height, LAST_HEIGHT);
  const isOneBlock = ({ first, last }: Heights): boolean => first === last;

  return {
    addresses: {
      events: async (principal, kinds, limit, offset) =>
        events.newest(principalOf(principal), kinds, Number.MAX_SAFE_INTEGER, limit, offset),

      async tokens(principal, height): Promise<TokenHistory[]> {
        return states.tokens(principalOf(principal), untilOf(height)).map(({ token, assetId: id, sent, received }) => ({
          token: token === TOKEN.ft ? 'ft' : 'nft',
          asset: identifier.get(id)?.identifier ?? '',
          sent,
          received,
        }));
      },

      async assetEvents(principal, height, limit, offset) {
        const id = principalOf(principal);
        const until = untilOf(height);
        const { events: assets, locks } = states.at(id, until);
        const total = assets + locks;
        const items = offset >= total ? [] : events.newest(id, MOVES, positionsOf(until).last, limit, offset);
        return { items, total };
      },

      async inboundTransfers(principal, heights, limit, offset) {
        const id = principalOf(principal);
        const { first, last } = positionsIn(heights);
        const total = isOneBlock(heights)
          ? states.inboundBetween(id, first, last)
          : states.at(id, untilOf(heights.last)).inbound;
        return { items: offset >= total ? [] : inbound(id, heights, limit, offset), total };
      },

      async transactions(principal, heights, limit, offset) {
        const id = principalOf(principal);
        const total = isOneBlock(heights)
          ? transactions.count(id, heights).transactions
          : states.at(id, untilOf(heights.last)).transactions;
        const positions = offset >= total ? [] : transactions.positions(id, heights, limit, offset);
        return { items: details.at(positions), total };
      },

      async transactionsWithTransfers(principal, heights, limit, offset) {
        const id = principalOf(principal);
        if (isOneBlock(heights)) {
          const { transactions: all, sponsored } = transactions.count(id, heights);
          return { items: transactions.concerning(id, heights, all, 0), total: all - sponsored };
        }
        const state = states.at(id, untilOf(heights.last));
        const total = state.transactions - state.sponsoredOnly;
        return { items: offset >= total ? [] : transactions.concerning(id, heights, limit, offset), total };
      },

      async transactionWithTransfers(principal, txId) {
        const position = transactions.find(txId);
        return position === undefined ? undefined : transactions.ofPrincipal(principalOf(principal), position);
      },

      async chainPage(principal, limit, start) {
        const id = principalOf(principal);
        return transactions.chainPage(id, states.at(id, LAST_HEIGHT).transactions, limit, start);
      },

      async eventsOfTransaction(principal, txId, limit, offset) {
        const position = transactions.find(txId);
        if (position === undefined) return undefined;
        const all = events.ofTransaction(principalOf(principal), position);
        return { items: all.slice(offset, offset + limit), total: all.length };
      },

      mempool: async (principal, limit, offset) => mempool.detailsOfPrincipal(principal, limit, offset),
      ftBalances: async (principal, limit, offset) => holders.tokensOf(principalOf(principal), limit, offset),
    },
    tokenLists: {
      stxHolders: async (limit, offset) => holders.stx(limit, offset),
      ftHolders: async (asset, limit, offset) => holders.ft(assetOf(asset), limit, offset),
      async nftHoldings(principal, assets, limit, offset, withTransactions) {
        const numbered = assets === null ? null : new Map(assets.map((asset) => [asset, assetOf(asset)]));
        return nfts.ofOwner(principalOf(principal), numbered, limit, offset, withTransactions);
      },
      nftHistory: async (asset, value, limit, offset, withTransactions) =>
        nfts.history(assetOf(asset), value, limit, offset, withTransactions),
      nftMints: async (asset, limit, offset, withTransactions) =>
        nfts.mints(assetOf(asset), limit, offset, withTransactions),
    },
  };
}
