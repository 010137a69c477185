/** Blocks from payloads that are read again from the journal. */
import { bytesEqual } from '../../base/bytes-equal.ts';
import { OperatorError } from '../../base/errors.ts';
import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { blockOfText } from '../../chain/normalise.ts';
import { toHex } from '../../codec/hex.ts';

export interface EntryReader {
  read(id: number): { text: string } | undefined;
}

/** Returns the error for a journal without the payload of an indexed block. */
export const missingPayload = (indexBlockHash: Uint8Array): OperatorError =>
  new OperatorError(
    `The journal doesn't have the payload of block ${toHex(indexBlockHash)}.`,
    'Run with the journal that this index was built from, or import the chain into another directory.',
  );

/** Decodes the block of a payload. @throws OperatorError if the payload belongs to another block */
export function blockOfPayload(text: string, indexBlockHash: Uint8Array, network: Network): Block {
  const block = blockOfText(text, network);
  if (bytesEqual(block.indexBlockHash, indexBlockHash)) return block;
  const [expected, actual] = [toHex(indexBlockHash), toHex(block.indexBlockHash)];
  throw new OperatorError(
    `The index is damaged: for block ${expected} it has the payload of block ${actual}.`,
    'Rebuild the index from the journal: stackside rebuild.',
  );
}
