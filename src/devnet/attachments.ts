import { toHex } from '../codec/hex.ts';
import type { Attachment } from './contract.ts';
import type { Receipt } from './execute.ts';
import { type NodeEvent, nodeEvent } from './node-event.ts';
import type { Prng } from './prng.ts';

/** Attachments that a block's transactions named. */
interface Named {
  readonly txId: string;
  readonly attachment: Attachment;
}

/** The block that named an attachment. */
interface Place {
  readonly indexBlockHash: string;
  readonly height: number;
}

/**
 * Brings attachments as nodes do, which download them from peers: some before the block that names them is announced, most
 * a little after, a few twice, a few never. Attachments of losing forks come too.
 */
export class Attachments {
  #waiting: object[] = [];

  constructor(readonly prng: Prng) {}

  /** The posts that come before a block, of what it names and of what blocks before it did. @param time Unix ms */
  announce(receipts: readonly Receipt[], place: Place, time: number): NodeEvent[] {
    const due = this.#waiting.filter(() => this.prng.chance(0.6));
    this.#waiting = this.#waiting.filter((body) => !due.includes(body));
    for (const { txId, attachments = [] } of receipts) {
      for (const attachment of attachments) this.#take(payload({ txId, attachment }, place), due);
    }
    return due.length === 0 ? [] : [nodeEvent('/attachments/new', due, time)];
  }

  #take(body: object, due: object[]): void {
    switch (
      this.prng.weighted([
        [16, 'later'],
        [2, 'at once'],
        [1, 'twice'],
        [1, 'never'],
      ] as const)
    ) {
      case 'at once':
        due.push(body);
        return;
      case 'later':
        this.#waiting.push(body);
        return;
      case 'twice':
        due.push(body);
        this.#waiting.push({ ...body });
        return;
      default:
    }
  }
}

const payload = ({ txId, attachment }: Named, { indexBlockHash, height }: Place): object => ({
  attachment_index: attachment.index,
  block_height: height,
  content: toHex(attachment.content),
  content_hash: toHex(attachment.hash),
  contract_id: attachment.contract,
  index_block_hash: indexBlockHash,
  metadata: toHex(attachment.metadata),
  tx_id: txId,
});
