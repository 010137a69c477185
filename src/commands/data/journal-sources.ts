/**
 * Journals of other servers or data directories, for `stackside import --from`, which imports their events, and `check
 * --against`, which compares their chain values.
 */
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { Value } from '@sinclair/typebox/value';
import { JournalPage } from '../../api/stackside/journal.ts';
import { hasCode, OperatorError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { fromHex } from '../../codec/hex.ts';
import { strictText } from '../../codec/utf8.ts';
import type { Refusal } from '../../places/transfer.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import { openWholeJournal } from '../../store/files/journal-link.ts';
import { NAME_ARCHIVE, type OlderEntries, withOlder } from '../../store/files/older-entries.ts';
import {
  CHAIN_START,
  type Entry,
  firstEntries,
  type Head,
  type MostEntries,
  sameChain,
} from '../../store/log/entry.ts';
import type { Peer } from './peer.ts';

/** The entries after one. */
export interface JournalBatch {
  /** Number of the journal's last event. */
  last: number;
  /** Consecutive entries with unverified chain values; none at the end of the journal. */
  entries: AsyncIterable<Entry> | Iterable<Entry>;
}

export interface JournalSource {
  /** The location in messages. */
  readonly location: string;
  /**
   * The chain value of an event; null if the journal ends before it, `trimmed` if the event was removed.
   * @throws OperatorError if the journal can't be read
   */
  chainAt(id: number): Promise<Uint8Array | null | 'trimmed'>;
  /** @throws OperatorError if the journal can't be read, or lacks the next event */
  after(id: number): Promise<JournalBatch>;
  close(): void;
}

const JOURNAL_PATH = '/stackside/v1/journal';
/** Maximum bytes of a page, which may have a whole genesis block in base64. */
const LONGEST_PAGE = 1_000_000_000;

/** Maximum entries that are read at a time. */
const MOST: MostEntries = { entries: 2_000, bytes: 8_000_000 };

const decompress = promisify(zstdDecompress);

/** The error for a journal without the next event. */
export const lacking = (location: string, id: number): OperatorError =>
  new OperatorError(
    `The journal of ${location} lacks event ${id}.`,
    `${NAME_ARCHIVE} Or restore a backup that holds the event, and import the journal then.`,
  );

/** @returns null if the server answers that its journal lacks the event */
function refused(location: string, { status }: Refusal): OperatorError | null {
  switch (status) {
    case 404:
      return new OperatorError(
        `${location} has no journal.`,
        "Check the URL: it must be that of the API of a Stackside that accepts its node's events and has a journal.",
      );
    case 410:
      return null;
    default:
      return new OperatorError(`${location} refuses to send its journal, with status ${status}.`, 'Check the URL.');
  }
}

/** @throws OperatorError if the bytes are not a complete page */
function pageOf(location: string, bytes: Uint8Array): JournalPage {
  const page = parsedJson(strictText(bytes) ?? '');
  if (!Value.Check(JournalPage, page)) {
    throw new OperatorError(`${location} sent an answer that is not a journal.`, 'Check the URL.');
  }
  if (page.error === undefined) return page;
  throw new OperatorError(`${location} can't read its journal.`, 'Read the log of that server.');
}

/** @param limit maximum bytes of a decompressed event, since a small payload may expand to any size */
async function* entriesOf(location: string, { entries }: JournalPage, limit: number): AsyncGenerator<Entry> {
  for (const { id, received_at, path, chain, payload } of entries) {
    const text = await decompress(Buffer.from(payload, 'base64'), { maxOutputLength: limit })
      .then(strictText)
      .catch((cause: unknown) => {
        throw hasCode(cause, 'ERR_BUFFER_TOO_LARGE') ? tooLong(location, id, limit) : damaged(location, id, { cause });
      });
    if (text === null) throw damaged(location, id);
    yield { id, receivedAt: received_at, path, text, chain: fromHex(chain) };
  }
}

/** The error for an entry with a wrong chain value or payload. */
export const damaged = (location: string, id: number, options?: ErrorOptions): OperatorError =>
  new OperatorError(
    `Entry ${id} of the journal of ${location} is damaged.`,
    'Check that journal with stackside check, or take that of another server.',
    options,
  );

const tooLong = (location: string, id: number, limit: number): OperatorError =>
  new OperatorError(
    `Entry ${id} of the journal of ${location} has more than ${limit} bytes.`,
    'Raise --event-body-limit if that server is to be trusted.',
  );

/**
 * The journal of another server.
 * @param limit maximum bytes of an event
 */
export function peerJournal(peer: Peer, limit: number): JournalSource {
  const { location } = peer;

  /** @returns null if the journal lacks the next event */
  async function pageAfter(after: number, limit: number): Promise<JournalPage | null> {
    const bytes = await peer.get({
      path: JOURNAL_PATH,
      query: { after: String(after), limit: String(limit) },
      most: LONGEST_PAGE,
      refused: (refusal) => refused(location, refusal),
    });
    return bytes === null ? null : pageOf(location, bytes);
  }

  return {
    location,
    async chainAt(id) {
      const found = await pageAfter(id, 1);
      if (found === null) return 'trimmed';
      return found.chain === null ? null : fromHex(found.chain);
    },
    async after(id) {
      const read = await pageAfter(id, MOST.entries);
      if (read === null) throw lacking(location, id + 1);
      return { last: read.last, entries: entriesOf(location, read, limit) };
    },
    close() {},
  };
}

/**
 * The journal of a data directory, which a server may be writing.
 * @param older entries that it no longer has; null where there are none
 * @throws OperatorError if it has none
 */
export function directoryJournal(directory: string, older: OlderEntries | null): JournalSource {
  const opened = openWholeJournal(directory);
  const journal = withOlder(opened, older);
  const lacksNext = (id: number): boolean => id < journal.trimmedTo();
  return {
    location: directory,
    chainAt: async (id) => (lacksNext(id) ? 'trimmed' : journal.chainAt(id)),
    async after(id) {
      if (lacksNext(id)) throw lacking(directory, id + 1);
      return { last: journal.lastId(), entries: firstEntries(journal.entriesAfter(id), MOST) };
    },
    close: opened.close,
  };
}

/**
 * The last event up to which a journal agrees with this data's; number 0 if none is known. Events that either journal has
 * trimmed can't be compared, but later ones can.
 */
export async function lastCommon(
  directory: string,
  source: Pick<JournalSource, 'chainAt'>,
  place: Pick<Head, 'id'>,
): Promise<Head> {
  const journal = openJournalReader(directory);
  try {
    let common: Head = { id: 0, chain: CHAIN_START };
    for (let [from, to] = [1, place.id]; from <= to; ) {
      const id = (from + to) >> 1;
      const ours = journal.chainAt(id);
      const theirs = await source.chainAt(id);
      const isKnown = ours !== null && theirs !== 'trimmed';
      if (isKnown && (theirs === null || !sameChain(ours, theirs))) {
        to = id - 1;
      } else {
        if (isKnown) common = { id, chain: ours };
        from = id + 1;
      }
    }
    return common;
  } finally {
    journal.close();
  }
}
