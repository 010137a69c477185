/** Recognises a recording of which rows were imported before. */
import { hash } from 'bun';
import type { Imported } from '../../store/files/import-progress.ts';
import { openInput } from './input.ts';

/** A digest of rows, each hashed onto those before it. */
export class RowDigest {
  #digest = 0n;

  add(row: Uint8Array): void {
    this.#digest = hash.xxHash64(row, this.#digest);
  }

  get text(): string {
    return this.#digest.toString(16);
  }
}

export const NOTHING_IMPORTED: Imported = { rows: 0, digest: '' };

/**
 * Whether a recording begins with the rows that were imported of one with the same first row: others may begin as it does.
 * @param file not stdin: it is read up to there
 */
export async function beginsWith(file: string, { rows, digest }: Imported): Promise<boolean> {
  const read = new RowDigest();
  let count = 0;
  for await (const row of openInput(file).lines()) {
    read.add(row);
    count += 1;
    if (count === rows) return read.text === digest;
  }
  return false;
}
