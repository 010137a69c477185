/** Microblocks streamed on the tip that no block has confirmed yet (Stacks 2.x), and searches that list their transactions. */
import type { Database } from 'bun:sqlite';
import type { ChainTransaction } from '../../../chain/block.ts';
import type { Network } from '../../../chain/network.ts';
import { type StreamedMicroblock, streamedMicroblocks } from '../../../chain/normalise.ts';
import { readPayload } from '../../../chain/payload-reader.ts';
import { fromHex } from '../../../codec/hex.ts';
import type { EntryReader } from '../../files/payload-source.ts';
import type { OffsetPage } from '../../model/page.ts';
import type { TransactionDetail, TransactionFilter, TransactionOrder } from '../../model/transaction.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import { detailFromPayload } from '../transactions/details.ts';

export const sql = {
  onTip: `SELECT m.microblock_hash, m.received_at, m.journal_id
            FROM streamed_microblocks m
           WHERE m.parent_index_block_hash = (SELECT index_block_hash FROM blocks ORDER BY height DESC LIMIT 1)
             AND m.accepted = 1
           ORDER BY m.sequence`,
  tip: 'SELECT height, block_hash, index_block_hash FROM blocks ORDER BY height DESC LIMIT 1',
};

type Row = Stored<'streamed_microblocks', 'microblock_hash' | 'received_at' | 'journal_id'>;

type TipRow = Stored<'blocks', 'height' | 'block_hash' | 'index_block_hash'>;

interface WaitingMicroblock extends StreamedMicroblock {
  /** Unix seconds. */
  receivedAt: number;
  /** The Bitcoin block that the stream names. */
  burnBlock: { hash: Uint8Array; height: number; time: number };
}

interface WaitingTransaction {
  transaction: ChainTransaction;
  detail: TransactionDetail;
}

const MICROSECONDS = 1_000_000;
const NO_HASH = new Uint8Array(0);

type Message = Pick<WaitingMicroblock, 'burnBlock'> & { microblocks: StreamedMicroblock[] };

function messageOf(text: string, network: Network): Message {
  const event = readPayload('/new_microblocks', text);
  if (event.kind !== 'microblocks') throw new Error('the payload of microblocks is that of another event');
  const { burn_block_hash, burn_block_height, burn_block_timestamp } = event.microblocks;
  return {
    burnBlock: { hash: fromHex(burn_block_hash), height: burn_block_height, time: burn_block_timestamp },
    microblocks: streamedMicroblocks(event.microblocks, network),
  };
}

export type StreamedQueries = ReturnType<typeof streamedQueries>;

export function streamedQueries(db: Database, journal: EntryReader, network: () => Network) {
  const onTip = prepared<Row, []>(db, sql.onTip);
  const tip = prepared<TipRow, []>(db, sql.tip);

  /** Streamed microblocks by sequence. */
  function microblocks(): WaitingMicroblock[] {
    const messages = new Map<string, Message>();
    const found: WaitingMicroblock[] = [];
    for (const { microblock_hash, received_at, journal_id } of onTip.all()) {
      const text = journal.read(journal_id)?.text;
      if (text === undefined) continue;
      const message = messages.get(text) ?? messageOf(text, network());
      messages.set(text, message);
      const microblock = message.microblocks.find(({ hash }) => Buffer.compare(hash, microblock_hash) === 0);
      if (microblock === undefined) continue;
      const receivedAt = Math.round(received_at / MICROSECONDS);
      found.push({ ...microblock, receivedAt, burnBlock: message.burnBlock });
    }
    return found;
  }

  /** Streamed transactions in order, as transactions of the next block. */
  function transactions(): WaitingTransaction[] {
    const parent = tip.get();
    if (parent === null) return [];
    return microblocks().flatMap((microblock) =>
      microblock.transactions.map((transaction) => ({
        transaction,
        detail: detailFromPayload(transaction, {
          canonical: true,
          block: { height: parent.height + 1, hash: NO_HASH, indexHash: NO_HASH, time: microblock.receivedAt },
          burnBlock: { height: -1, time: -1 },
          parentBlock: { hash: parent.block_hash, indexHash: parent.index_block_hash },
          parentBurnBlockTime: microblock.burnBlock.time,
          microblock,
        }),
      })),
    );
  }

  return {
    /** The block that they are streamed on; null before the first block. */
    parent: (): TipRow | null => tip.get(),
    microblocks,
    transactions,
    find: (txId: Uint8Array): WaitingTransaction | undefined =>
      transactions().find(({ transaction }) => Buffer.compare(transaction.txId, txId) === 0),
  };
}

type Search = (
  filter: TransactionFilter,
  order: TransactionOrder,
  limit: number,
  offset: number,
) => OffsetPage<TransactionDetail>;

function matches(of: TransactionDetail, filter: TransactionFilter): boolean {
  const { payload } = of;
  const call = payload.type === 'contract_call' ? payload : null;
  const paid = payload.type === 'token_transfer' ? payload.recipient : null;
  return (
    (filter.types === null || filter.types.includes(payload.type)) &&
    (filter.sender === null || filter.sender === of.sender.address) &&
    (filter.recipient === null || filter.recipient === paid) &&
    (filter.contract === null || filter.contract === call?.contractId) &&
    (filter.functionName === null || filter.functionName === call?.functionName) &&
    (filter.nonce === null || BigInt(filter.nonce) === of.sender.nonce) &&
    (filter.since === null || filter.since <= of.burnBlock.time) &&
    (filter.until === null || filter.until >= of.burnBlock.time)
  );
}

const keyOf = (of: TransactionDetail, by: TransactionOrder['by']): bigint =>
  by === 'fee' ? BigInt(of.fee) : by === 'burn_block_time' ? BigInt(of.burnBlock.time) : BigInt(of.block.height);

/**
 * Adds streamed transactions to a search. They are newer than all of the chain: among equals they come last, or first in
 * descending order.
 */
export const withStreamed =
  (search: Search, streamed: StreamedQueries) =>
  async (
    filter: TransactionFilter,
    order: TransactionOrder,
    limit: number,
    offset: number,
    asked: boolean,
  ): Promise<OffsetPage<TransactionDetail>> => {
    const waiting = asked
      ? streamed
          .transactions()
          .map(({ detail }) => detail)
          .filter((of) => matches(of, filter))
      : [];
    if (waiting.length === 0) return search(filter, order, limit, offset);
    // The page's items are among these: streamed ones, and rows at most as many items before the page as there are streamed ones.
    const first = Math.max(0, offset - waiting.length);
    const page = search(filter, order, limit + waiting.length, first);
    const both = [...page.items, ...waiting].map((of, age) => ({ of, age, key: keyOf(of, order.by) }));
    const sign = order.direction === 'asc' ? 1 : -1;
    // Rows are in their order already, so among equals the index is the age; streamed ones are newer than any row.
    const isNew = (age: number) => age >= page.items.length;
    both.sort((a, b) => {
      if (a.key !== b.key) return a.key < b.key ? -sign : sign;
      if (isNew(a.age) !== isNew(b.age)) return isNew(a.age) ? sign : -sign;
      return isNew(a.age) ? sign * (a.age - b.age) : a.age - b.age;
    });
    // Rows before the first that was read come before the page in any case.
    const ahead = Math.max(0, offset - first);
    return {
      items: both.slice(ahead, ahead + limit).map(({ of }) => of),
      total: page.total + waiting.length,
    };
  };
