/** The note in a data directory about the archive that it was restored from, so that an older state of it is noticed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { wholeFile } from '../base/files.ts';
import { parsedJson } from '../base/json.ts';
import { onFile } from '../base/system-errors.ts';
import { FILE_MODE, makePrivateDirectory } from '../store/files/private-files.ts';
import { Identity } from './archive.ts';

const SeenArchive = Type.Object({
  /** Where it was last read. */
  location: Type.String(),
  archive: Identity,
  /** Its newest entry that was seen, and the chain value of that in hex. */
  entry: Type.Integer({ minimum: 0 }),
  chain: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
/** An archive as it was last seen. */
export type SeenArchive = Static<typeof SeenArchive>;

/** Path of the note, which users know as `from.json`. */
const notePath = (directory: string): string => join(directory, 'from.json');

/** Reads the note; null where there is none, or it was changed by hand. @throws OperatorError where the file can't be read */
export function seenArchive(directory: string): SeenArchive | null {
  const path = notePath(directory);
  const text = onFile(path, () => (existsSync(path) ? readFileSync(path, 'utf8') : ''));
  const value = parsedJson(text);
  return Value.Check(SeenArchive, value) ? value : null;
}

/** Notes an archive in place of a known one. @throws OperatorError where the note can't be written */
export function noteArchive(directory: string, seen: SeenArchive): void {
  onFile(directory, () => makePrivateDirectory(directory));
  const file = wholeFile(notePath(directory), FILE_MODE);
  try {
    onFile(file.path, () => writeFileSync(file.partial, `${JSON.stringify(seen)}\n`));
    file.commit();
  } finally {
    file.discard();
  }
}
