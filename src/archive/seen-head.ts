/** Stores the newest head of an archive in the data directory restored from it, to detect an older state of the archive. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { writeWhole } from '../base/files.ts';
import { parsedJson } from '../base/json.ts';
import { onFile } from '../base/system-errors.ts';
import { FILE_MODE, makePrivateDirectory } from '../store/files/private-files.ts';
import { Identity } from './archive.ts';

const SeenArchive = Type.Object({
  /** Location from which it was last read. */
  location: Type.String(),
  archive: Identity,
  /** Number of the newest entry seen, and its chain value in hex. */
  entry: Type.Integer({ minimum: 0 }),
  chain: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
/** An archive as it was last seen. */
export type SeenArchive = Static<typeof SeenArchive>;

/** Returns the path of the note. Users know it as `from.json`. */
const notePath = (directory: string): string => join(directory, 'from.json');

/** Reads the note; returns null if it is missing or invalid. @throws OperatorError if the file can't be read */
export function seenArchive(directory: string): SeenArchive | null {
  const path = notePath(directory);
  const text = onFile(path, () => (existsSync(path) ? readFileSync(path, 'utf8') : ''));
  const value = parsedJson(text);
  return Value.Check(SeenArchive, value) ? value : null;
}

/** Writes the note, and replaces an earlier one. @throws OperatorError if the note can't be written */
export function noteArchive(directory: string, seen: SeenArchive): void {
  onFile(directory, () => makePrivateDirectory(directory));
  writeWhole(notePath(directory), `${JSON.stringify(seen)}\n`, FILE_MODE);
}
