/** Entries as the journal's file holds them, and what is wrong with one that isn't what was written. */
import { zstdDecompressSync } from 'bun';
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { decoded, type Entry, HASH_BYTES, nextChain, sameChain } from '../log/entry.ts';

const REMEDY = 'Restore the journal from a backup. stackside check names what else is damaged.';

/** What the journal's file held isn't known: pages can't be read, or entries are missing of which it doesn't know. */
export class JournalDamagedError extends OperatorError {
  /** @param what is damaged, as a sentence without its end */
  constructor(file: string, what = 'some of its pages can not be read', options?: ErrorOptions) {
    super(`${file} is damaged: ${what}.`, REMEDY, options);
  }
}

/** An entry that is missing or isn't what was written. It is never applied, exported or served. */
export class JournalEntryError extends OperatorError {
  constructor(
    file: string,
    /** Id of the entry. */
    readonly id: number,
    /** What is wrong, as the end of a sentence that begins with the entry. */
    readonly fault: string,
    options?: ErrorOptions,
  ) {
    super(`Entry ${id} of ${file} ${fault}.`, REMEDY, options);
  }
}

/** An entry as the journal's file holds it. */
export interface EntryRow {
  id: number;
  received_at: number;
  path: string;
  payload: Uint8Array;
  /** Null where the file lacks it. */
  chain: Uint8Array | null;
  /** Chain value of what comes before it; null where the file lacks it. */
  previous: Uint8Array | null;
}

function checked(file: string, row: EntryRow): EntryRow & { previous: Uint8Array } {
  const { id, received_at, path, payload, previous } = row;
  if (previous === null) throw new JournalEntryError(file, id - 1, 'is missing');
  if (previous.length !== HASH_BYTES)
    throw new JournalEntryError(file, id - 1, 'is damaged: its chain value is another');
  // A damaged file may hold anything in a column.
  if (!Number.isSafeInteger(received_at) || typeof path !== 'string' || !(payload instanceof Uint8Array)) {
    throw new JournalEntryError(file, id, 'is damaged: a column holds another type');
  }
  return { ...row, previous };
}

function unpacked(file: string, { id, payload }: EntryRow): Uint8Array {
  try {
    return zstdDecompressSync(payload);
  } catch (cause) {
    // Whatever is wrong, it is the bytes.
    throw new JournalEntryError(file, id, 'is damaged: its payload can not be decompressed', { cause });
  }
}

/** The text of a row, whose chain value is not looked at. @throws JournalEntryError */
export const textOfRow = (file: string, row: EntryRow): string => decoded(unpacked(file, checked(file, row)));

/** @param file names the journal in errors @throws JournalEntryError where the row is not what was written */
export function entryOfRow(file: string, row: EntryRow): Entry {
  const { id, received_at, path, previous, chain } = checked(file, row);
  const bytes = unpacked(file, row);
  if (chain === null || !sameChain(nextChain(previous, { id, receivedAt: received_at, path, text: bytes }), chain)) {
    throw new JournalEntryError(file, id, 'is damaged: its chain value is another');
  }
  const text = decoded(bytes);
  discard(bytes);
  return { id, receivedAt: received_at, path, text, chain };
}
