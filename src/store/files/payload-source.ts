/** Where the JSON text of an event is kept to be read again: in the journal, or without one beside the row that needs it. */

import { OperatorError } from '../../base/errors.ts';
import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { blockOfText } from '../../chain/normalise.ts';
import { toHex } from '../../codec/hex.ts';
import { compressed, decompressed } from './journal-entry.ts';

/** An entry of the journal, or without one the payload itself: JSON text. */
export type PayloadSource = { journalId: number } | { text: string };

/** How a row keeps it; a payload is compressed with zstd. */
export interface SourceColumns {
  journal_id: number | null;
  payload: Uint8Array | null;
}

export const sourceColumns = (source: PayloadSource): SourceColumns =>
  'journalId' in source
    ? { journal_id: source.journalId, payload: null }
    : { journal_id: null, payload: compressed(source.text) };

/** What reads entries of a journal by their id. */
export interface EntryReader {
  read(id: number): { text: string } | undefined;
}

/** What is kept for a block is the payload of another. */
export class MisplacedPayloadError extends OperatorError {
  constructor(wanted: Uint8Array, found: Uint8Array) {
    super(
      `What is kept as the payload of block ${toHex(wanted)} is that of block ${toHex(found)}: the index is damaged.`,
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

/** The text, undefined where it is kept no more. @param journal null where there is none */
export function payloadText({ journal_id, payload }: SourceColumns, journal: EntryReader | null): string | undefined {
  if (payload !== null) return decompressed(payload);
  return journal_id === null ? undefined : journal?.read(journal_id)?.text;
}
