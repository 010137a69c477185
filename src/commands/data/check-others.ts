/** What an index is compared with: the tables of another data directory or of another server, at one entry. */

import { Value } from '@sinclair/typebox/value';
import { Digests, LONGEST_WAIT } from '../../api/stackside/digests.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { OperatorError, PassingError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json-text.ts';
import { fromHex } from '../../codec/hex.ts';
import { strictText } from '../../codec/utf8.ts';
import type { IndexSnapshot } from '../../store/check/index-snapshot.ts';
import type { TableDigest } from '../../store/check/row-digests.ts';
import type { Head } from '../../store/log/entry.ts';
import { chainIn, digestOfWire, snapshotFrom } from './index-digests.ts';
import { directoryJournal, type JournalSource, peerJournal } from './journal-sources.ts';
import { isUrl, type Peer, peerAt, peerUrl, requireAnother } from './peer.ts';

/** Tables by name. */
export type Tables = ReadonlyMap<string, TableDigest>;

/** The other index as it is once it was waited for. */
export interface Found {
  place: Head;
  /** Chain value that it has for the entry that was asked for; null where it doesn't know it. */
  chainAsked: Uint8Array | null;
  schema: number;
  /** Null where it is at another entry than the one asked for. */
  tables: Tables | null;
}

/** What this data is compared with. */
export interface Other {
  readonly location: string;
  /** Waits for an entry, and digests the tables at it. */
  at(id: number): Promise<Found>;
  /** @throws OperatorError where it keeps none */
  journal(): JournalSource;
}

export interface AgainstOptions {
  directory: string;
  /** Seconds to wait until both are at one entry. */
  wait: number;
  clock: Clock;
  /** Told of each table of which rows are read. */
  reading: (what: string) => void;
}

/** Digests of all tables; null where they were given up. */
export async function tablesOf(
  snapshot: IndexSnapshot,
  location: string,
  { clock, reading }: Pick<AgainstOptions, 'clock' | 'reading'>,
  signal?: AbortSignal,
): Promise<Tables | null> {
  const tables = new Map<string, TableDigest>();
  for (const { table, ...read } of snapshot.digests()) {
    if (read.digest !== null) tables.set(table, read.digest);
    else reading(`${location}, ${table}: row ${read.rows}`);
    await clock.turn();
    if (signal?.aborted === true) return null;
  }
  return tables;
}

/** Another data directory, which a server may write meanwhile. @throws OperatorError where it is the same one */
function otherDirectory(location: string, { directory, wait, clock, reading }: AgainstOptions): Other {
  requireAnother('--against', location, directory);
  return {
    location,
    async at(id) {
      using snapshot = await snapshotFrom(location, id, wait, clock);
      const { place, schema } = snapshot;
      const isThere = place.id === id;
      const chainAsked = isThere ? place.chain : chainIn(location, id);
      const tables = isThere ? await tablesOf(snapshot, location, { clock, reading }) : null;
      return { place, chainAsked, schema, tables };
    },
    journal: () => directoryJournal(location),
  };
}

const DIGESTS_PATH = '/stackside/v1/digests';
/** Bytes of the longest answer: a few kilobytes for each table. */
const LONGEST_DIGESTS = 50_000_000;
/** A journal is only asked for its chain values, one entry at a time; bytes of the longest. */
const LONGEST_EVENT = 2_000_000_000;

function refused(location: string, status: number): OperatorError {
  if (status === 409) {
    return new PassingError(
      `${location} inspects its index at the moment.`,
      'Repeat the command once that is done, or cancel it on the page System of its console.',
    );
  }
  return new OperatorError(
    `${location} refuses to digest its tables, with status ${status}.`,
    'Check the URL: it is that of the API of a Stackside of this version that takes events.',
  );
}

function foundIn(location: string, bytes: Uint8Array | null): Found {
  const answer = bytes === null ? null : parsedJson(strictText(bytes) ?? '');
  if (!Value.Check(Digests, answer)) {
    throw new OperatorError(`${location} answers with something else than digests.`, 'Check the URL.');
  }
  const { stand, error, tables } = answer;
  if (error !== undefined || stand == null) {
    const why = error?.error ?? 'it says nothing';
    throw new PassingError(`${location} could not digest its tables: ${why}`, 'Look into the log of that server.');
  }
  return {
    place: { id: stand.entry, chain: fromHex(stand.chain) },
    chainAsked: stand.chain_asked === null ? null : fromHex(stand.chain_asked),
    schema: stand.schema,
    tables: tables.length === 0 ? null : new Map(tables.map((table) => [table.name, digestOfWire(table)])),
  };
}

/** Another server, which digests its tables itself. */
function otherServer(peer: Peer, { wait }: AgainstOptions): Other {
  const { location } = peer;
  return {
    location,
    async at(id) {
      const answer = await peer.get({
        path: DIGESTS_PATH,
        query: { at: String(id), wait: String(Math.min(wait, LONGEST_WAIT)) },
        most: LONGEST_DIGESTS,
        refused: ({ status }) => refused(location, status),
      });
      return foundIn(location, answer);
    },
    journal: () => peerJournal(peer, LONGEST_EVENT),
  };
}

/**
 * @param against a data directory, or the URL of an API
 * @param key the server's admin key; null for none
 * @throws OperatorError where it is no other place
 */
export const otherAt = (against: string, key: string | null, options: AgainstOptions): Other =>
  isUrl(against) ? otherServer(peerAt(peerUrl(against), key, systemClock), options) : otherDirectory(against, options);
