/** Reads the changes after a change, and the principals and tokens that a block concerns. */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import type { AddressTransaction } from '../model/account.ts';
import type { Change } from '../model/block.ts';
import type { NftMove } from '../model/token.ts';
import { assetEventOf, EVENT_KIND, PAYLOAD, storedChange } from '../rows/enums.ts';
import { query, type Stored, statements } from '../rows/statement.ts';
import { addressTransactionsOf, nftEventsOf, type OrphanQueries } from './blocks/orphans.ts';
import { numbers } from './numbers.ts';

export const sql = {
  newest: query<{ id: number }>`SELECT coalesce(max(id), 0) AS id FROM changes`,
  after: query<Stored<'changes', 'id' | 'kind' | 'subject'>, [number, number]>`
    SELECT id, kind, subject FROM changes WHERE id > ?1 ORDER BY id LIMIT ?2`,
  // The recipient of a coinbase isn't a party of the transaction.
  transactions: query<TransactionRow, [number, number]>`
    SELECT position, tx_id, sender_id, sponsor_id, iif(type = ${PAYLOAD.token_transfer}, recipient_id, NULL) AS recipient_id, contract_id
      FROM transactions WHERE position BETWEEN ?1 AND ?2 ORDER BY position`,
  // Logs of contracts name no principals.
  events: query<EventRow, [number, number]>`
    SELECT position, sender_id, recipient_id FROM events
     WHERE position BETWEEN ?1 AND ?2 AND kind > ${EVENT_KIND.log} ORDER BY position, event_index`,
  rewarded: query<Stored<'miner_rewards', 'recipient_id'>, [number]>`
    SELECT recipient_id FROM miner_rewards WHERE height = ?1 ORDER BY reward_index`,
  nftEvents: query<NftRow, [number, number]>`
    SELECT t.tx_id AS txId, t.tx_index AS txIndex, e.event_index AS eventIndex, e.kind, asset.identifier AS asset, e.value,
           sender.address AS sender, recipient.address AS recipient
      FROM events e JOIN transactions t ON t.position = e.position
      LEFT JOIN principals sender ON sender.id = e.sender_id
      LEFT JOIN principals recipient ON recipient.id = e.recipient_id
      JOIN assets asset ON asset.id = e.asset_id
     WHERE e.position BETWEEN ?1 AND ?2 AND e.kind >= ${EVENT_KIND.nft_transfer} ORDER BY e.position, e.event_index`,
};

interface TransactionRow
  extends Stored<'transactions', 'position' | 'tx_id' | 'sender_id' | 'sponsor_id' | 'contract_id'> {
  recipient_id: number | null;
}

type EventRow = Stored<'events', 'position' | 'sender_id' | 'recipient_id'>;

type NftRow = Omit<NftMove, 'blockHeight' | 'action'> & Stored<'events', 'kind'>;

/** Transactions and principals of a block, in the order of their first occurrence. */
interface BlockParties {
  txIds: Uint8Array[];
  /** Senders, sponsors, recipients, contracts, the parties of asset events and locks, and recipients of matured rewards. */
  principals: string[];
}

/** The parts of an orphaned block that subscribers are notified of. */
interface OrphanedParts {
  txIds: Uint8Array[];
  nftEvents: NftMove[];
  /** The transactions with their effects on the wanted principals, the last transaction first. */
  addressTransactions(isWanted: (principal: string) => boolean): Iterable<[principal: string, AddressTransaction]>;
}

export function changeQueries(db: Database, orphans: Pick<OrphanQueries, 'block'>) {
  const { newest, after, transactions, events, rewarded, nftEvents } = statements(db, sql);
  const { addressOf } = numbers(db);

  return {
    /** Id of the newest change; 0 before the first. */
    newest: (): number => newest.get()?.id ?? 0,

    /** Changes after a change's id, oldest first. Old changes are deleted. */
    after: (id: number, limit: number): Change[] =>
      after.all(id, limit).map((row) => ({ id: row.id, kind: storedChange.nameOf(row.kind), subject: row.subject })),

    /** Principals that take part in transactions or asset events of a canonical block, or had rewards that matured in it. */
    parties(height: number): BlockParties {
      const { first, last } = positionsOf(height);
      const rows = transactions.all(first, last);
      const addresses: string[] = [];
      const seen = new Set<number>();
      const add = (id: number | null) => {
        if (id === null || seen.has(id)) return;
        seen.add(id);
        addresses.push(addressOf(id));
      };
      const moves = events.all(first, last);
      let next = 0;
      for (const { position, sender_id, sponsor_id, recipient_id, contract_id } of rows) {
        for (const id of [sender_id, sponsor_id]) add(id);
        for (; moves[next] !== undefined && (moves[next]?.position ?? 0) <= position; next++) {
          add(moves[next]?.sender_id ?? null);
          add(moves[next]?.recipient_id ?? null);
        }
        for (const id of [contract_id, recipient_id]) add(id);
      }
      for (const { recipient_id } of rewarded.all(height)) add(recipient_id);
      return { txIds: rows.map(({ tx_id }) => tx_id), principals: addresses };
    },

    /** Moves of non-fungible tokens in a canonical block, in order. */
    nftEvents(height: number): NftMove[] {
      const { first, last } = positionsOf(height);
      return nftEvents
        .all(first, last)
        .map(({ kind, ...move }) => ({ ...move, blockHeight: height, action: assetEventOf(kind).action }));
    },

    /** The parts of an orphaned block; undefined if the block is canonical or no longer stored. */
    orphan(indexHash: Uint8Array): OrphanedParts | undefined {
      const block = orphans.block({ indexHash });
      if (block === undefined) return undefined;
      return {
        txIds: block.transactions.map(({ txId }) => txId),
        nftEvents: nftEventsOf(block),
        addressTransactions: (isWanted) => addressTransactionsOf(block, isWanted),
      };
    },
  };
}
