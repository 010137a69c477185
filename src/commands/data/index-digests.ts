/** Digests of the tables of a data directory at an entry, and their JSON. */
import type { Static } from '@sinclair/typebox';
import type { DigestPosition, TableDigest as WireDigest } from '../../api/stackside/journal.ts';
import { type Clock, pause, systemClock } from '../../base/clock.ts';
import { toHex } from '../../codec/hex.ts';
import { type IndexSnapshot, snapshotIndex } from '../../store/check/index-snapshot.ts';
import type { TableDigest } from '../../store/check/row-digests.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import { writeNow } from '../cli/output.ts';
import { progressLines } from '../cli/progress.ts';
import type { DigestLine } from '../serve/inspections.ts';

/** Milliseconds between two checks of an index that is waited for. */
const LOOK_MS = 5;

/**
 * Takes a snapshot once the index has reached an entry.
 * @param seconds maximum wait, after which the snapshot is taken anyway
 * @throws OperatorError if there is no index, or its version differs
 */
export async function snapshotFrom(
  directory: string,
  at: number,
  seconds: number,
  clock: Clock,
): Promise<IndexSnapshot> {
  const end = clock.monotonic() + seconds * 1000;
  const snapshot = snapshotIndex(directory);
  while (snapshot.position.id < at && clock.monotonic() < end) {
    await pause(clock, LOOK_MS);
    snapshot.renew();
  }
  return snapshot;
}

/** The chain value of an entry; null if the journal doesn't have it, or there is none. */
export function chainIn(directory: string, id: number): Uint8Array | null {
  const journal = openJournalReader(directory);
  try {
    return journal.chainAt(id);
  } finally {
    journal.close();
  }
}

/** The position of an index, for another host. */
function digestPositionOf(
  directory: string,
  { position, schema }: IndexSnapshot,
  at: number,
): Static<typeof DigestPosition> {
  const asked = at === position.id ? position.chain : chainIn(directory, at);
  return {
    entry: position.id,
    chain: toHex(position.chain),
    chain_asked: asked === null ? null : toHex(asked),
    schema,
  };
}

const wireOf = (name: string, { rows, rangeRows, ranges }: TableDigest): Static<typeof WireDigest> => ({
  name,
  rows,
  range_rows: rangeRows,
  ranges,
});

/** Parses the digest of a table that another host sent. */
export const digestOfWire = ({ rows, range_rows, ranges }: Static<typeof WireDigest>): TableDigest => ({
  rows,
  rangeRows: range_rows,
  ranges,
});

/** Prints the digests of a data directory as lines of JSON; without tables if the index is at another entry. */
export async function printDigests(directory: string, at: number, seconds: number): Promise<void> {
  const print = (line: DigestLine) => writeNow(`${JSON.stringify(line)}\n`);
  const progress = progressLines({ write: (text: string) => writeNow(text) });
  using snapshot = await snapshotFrom(directory, at, seconds, systemClock);
  print({ found: { stand: digestPositionOf(directory, snapshot, at) } });
  if (snapshot.position.id !== at) return;
  let number = 1;
  for (const { table: name, ...read } of snapshot.digests()) {
    if (read.digest !== null) {
      print({ found: { table: wireOf(name, read.digest) } });
      number += 1;
      continue;
    }
    const detail = `row ${read.rows}`;
    progress.draw(() => JSON.stringify({ at: { number, of: snapshot.tables, name, detail } } satisfies DigestLine));
  }
}
