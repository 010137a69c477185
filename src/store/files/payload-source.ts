/** The JSON text of an event, read again from the journal. */

import { OperatorError } from '../../base/errors.ts';
import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { blockOfText } from '../../chain/normalise.ts';
import { toHex } from '../../codec/hex.ts';

/** What reads entries of a journal by their id; a trimmed journal has the older ones no more. */
export interface EntryReader {
  read(id: number): { text: string } | undefined;
}

/** What is stored for a block is the payload of another. */
export class MisplacedPayloadError extends OperatorError {
  constructor(wanted: Uint8Array, found: Uint8Array) {
    super(
      `What is stored as the payload of block ${toHex(wanted)} is that of block ${toHex(found)}: the index is damaged.`,
      'Make it anew from the journal: stackside rebuild.',
    );
  }
}

/** The block of a payload. @throws MisplacedPayloadError where it is another than was asked for */
export function blockOfPayload(text: string, indexBlockHash: Uint8Array, network: Network): Block {
  const block = blockOfText(text, network);
  if (Buffer.compare(block.indexBlockHash, indexBlockHash) === 0) return block;
  throw new MisplacedPayloadError(indexBlockHash, block.indexBlockHash);
}
