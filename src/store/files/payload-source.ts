/** Blocks from payloads that are read again from the journal. */

import { OperatorError } from '../../base/errors.ts';
import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { blockOfText } from '../../chain/normalise.ts';
import { toHex } from '../../codec/hex.ts';

/** Reads entries of a journal by their id. */
export interface EntryReader {
  read(id: number): { text: string } | undefined;
}

/** The journal doesn't have the payload of a block that the index knows. */
export class MissingPayloadError extends OperatorError {
  constructor(indexBlockHash: Uint8Array) {
    super(
      `The journal doesn't have the payload of block ${toHex(indexBlockHash)}.`,
      'Run with the journal that this index was built from, or import the chain into another directory.',
    );
  }
}

/** The payload that is stored for a block is that of another block. */
export class MisplacedPayloadError extends OperatorError {
  constructor(wanted: Uint8Array, found: Uint8Array) {
    super(
      `What is stored as the payload of block ${toHex(wanted)} is that of block ${toHex(found)}: the index is damaged.`,
      'Make it anew from the journal: stackside rebuild.',
    );
  }
}

/** The block of a payload. @throws MisplacedPayloadError where the payload is that of another block */
export function blockOfPayload(text: string, indexBlockHash: Uint8Array, network: Network): Block {
  const block = blockOfText(text, network);
  if (Buffer.compare(block.indexBlockHash, indexBlockHash) === 0) return block;
  throw new MisplacedPayloadError(indexBlockHash, block.indexBlockHash);
}
