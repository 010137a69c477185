/** The newest snapshot of a data directory whose parts were all read back: what the journal may be trimmed to. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { hasCode } from '../../base/errors.ts';
import { parsedJson } from '../../base/json-text.ts';
import { onFile } from '../../base/system-errors.ts';
import { wholeFile } from '../../base/whole-file.ts';
import type { Gap } from './journal.ts';
import { FILE_MODE } from './private-files.ts';

const KnownSnapshot = Type.Object({
  location: Type.String(),
  /** The last event that it holds, and its chain value in hex. */
  position: Type.Integer({ minimum: 0 }),
  chain: Type.String(),
});
/** A snapshot that holds everything up to an event. */
export type KnownSnapshot = Static<typeof KnownSnapshot>;

const snapshotPath = (directory: string): string => join(directory, 'snapshot.json');

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * Null where none is known, which is so too where the file was changed by hand.
 * @throws OperatorError where the file can't be read
 */
export function newestSnapshot(directory: string): KnownSnapshot | null {
  const path = snapshotPath(directory);
  const text = onFile(path, () => textOf(path));
  const value = text === null ? undefined : parsedJson(text);
  return Value.Check(KnownSnapshot, value) ? value : null;
}

/** Notes a snapshot, unless a newer one is known. @throws OperatorError where it can't be written */
export function noteSnapshot(directory: string, snapshot: KnownSnapshot): void {
  if ((newestSnapshot(directory)?.position ?? -1) > snapshot.position) return;
  const file = wholeFile(snapshotPath(directory), FILE_MODE);
  try {
    onFile(file.path, () => writeFileSync(file.partial, `${JSON.stringify(snapshot)}\n`));
    file.keep();
  } finally {
    file.discard();
  }
}

/**
 * The snapshot that holds what a journal lacks at its beginning.
 * @param gap what the journal lacks
 * @returns null where none is known that does
 */
export function snapshotHolding(directory: string, gap: Gap): KnownSnapshot | null {
  const snapshot = newestSnapshot(directory);
  return gap.first === 1 && snapshot !== null && snapshot.position >= gap.last ? snapshot : null;
}
