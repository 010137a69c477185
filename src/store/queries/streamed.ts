/** The microblocks that were streamed on the tip and wait for a block to confirm them (Stacks 2.x). */
import type { Database } from 'bun:sqlite';
import type { ChainTransaction } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { type StreamedMicroblock, streamedMicroblocks } from '../../chain/normalise.ts';
import { readPayload } from '../../chain/payload-reader.ts';
import { fromHex } from '../../codec/hex.ts';
import type { EntryReader } from '../files/payload-source.ts';
import type { TransactionDetail } from '../model/transaction.ts';
import { prepared } from '../rows/statement.ts';
import { detailFromPayload } from './payload-details.ts';

export const sql = {
  onTip: `SELECT m.microblock_hash, m.received_at, m.journal_id
            FROM streamed_microblocks m
           WHERE m.parent_index_block_hash = (SELECT index_block_hash FROM blocks ORDER BY height DESC LIMIT 1)
             AND m.accepted = 1
           ORDER BY m.sequence`,
  tip: 'SELECT height, block_hash, index_block_hash FROM blocks ORDER BY height DESC LIMIT 1',
};

interface Row {
  microblock_hash: Uint8Array;
  received_at: number;
  journal_id: number;
}

interface TipRow {
  height: number;
  block_hash: Uint8Array;
  index_block_hash: Uint8Array;
}

export interface WaitingMicroblock extends StreamedMicroblock {
  /** Unix seconds. */
  receivedAt: number;
  /** The Bitcoin block that the stream says it stands on. */
  burnBlock: { hash: Uint8Array; height: number; time: number };
}

export interface WaitingTransaction {
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

  /** Streamed microblocks in the order of their sequence. */
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

  /** Streamed transactions in the order of the chain; as if the next block held them. */
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
    /** The block they are built on, null before the first. */
    parent: (): TipRow | null => tip.get(),
    microblocks,
    transactions,
    find: (txId: Uint8Array): WaitingTransaction | undefined =>
      transactions().find(({ transaction }) => Buffer.compare(transaction.txId, txId) === 0),
  };
}
