/**
 * Writes a log to an archive, from the journal of this host. A round seals the segments that are complete, and writes what follows
 * as an open part. It begins where the archive ends by its own list, so that an interrupted archive goes on, and writes nothing
 * where the archive is of another log.
 */
import type { Place } from '../backup/manifest.ts';
import { type Clock, pause } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import type { JournalReads } from '../store/files/journal.ts';
import { type Entry, firstEntries, type Head, type MostEntries, sameChain } from '../store/log/entry.ts';
import {
  ArchiveDamagedError,
  chainOfIdentity,
  contentsOf,
  IDENTITY,
  type Identity,
  identityBytes,
  identityIn,
  identityOf,
  openPart,
  requireIdentity,
  START,
  trimmedName,
} from './archive.ts';
import {
  isComplete,
  LONGEST,
  openName,
  packedSegment,
  SEGMENT,
  SegmentError,
  type SegmentRange,
  segmentBeginning,
  segmentContent,
  segmentContentOf,
  segmentName,
} from './segment.ts';

/**
 * Milliseconds between two sealed segments. The first archive of a long journal then reads 40 MB of texts a second at most, and
 * leaves the disk and the network to others.
 */
const SEGMENT_MS = 100;

/** Log events of the archive, one for each change of its state. */
export type ArchiveEvent =
  | { event: 'archive_failing'; place: string; problem: string; remedy: string; cause?: unknown }
  | { event: 'archive_resumed'; place: string; failures: number };

/** Who writes, and what. */
export interface Round {
  /** The chain of the log. */
  chainId: number;
  /** Name of this host. */
  host: string;
  /** Epoch of its lease; null on a host that shares no log. */
  epoch: number | null;
}

export interface ArchiverOptions {
  place: Place;
  journal: Pick<JournalReads, 'entriesAfter' | 'chainAt' | 'lastId' | 'trimmedTo'>;
  clock: Clock;
  /** Called with the number of the last entry that the archive has. */
  archived: (entry: number) => void;
  /** Where a segment ends; tests have shorter ones. */
  segment?: MostEntries;
}

const OWN_ARCHIVE = 'Give this log an archive of its own with another --archive.';

/** The archive has entries that the log lacks, or other ones than the log. */
const diverged = (location: string, what: string): OperatorError =>
  new OperatorError(
    `The archive at ${location} is of another log: ${what}.`,
    `Nothing was written to it. If this data was restored to an earlier state, restore it whole (stackside restore), or import what it lacks. ${OWN_ARCHIVE}`,
  );

/** @throws OperatorError where the archive is of another chain, or of another log by its first entry */
function requireSame(location: string, found: Identity, own: Identity): void {
  if (found.chain_id !== own.chain_id) {
    throw new OperatorError(
      `The archive at ${location} is of ${chainOfIdentity(found)}, and this log of ${chainOfIdentity(own)}.`,
      OWN_ARCHIVE,
    );
  }
  if (found.first === own.first) return;
  throw new OperatorError(
    `The archive at ${location} is of another log: its entry 1 is another.`,
    `Servers that don't share a log (--cluster) need an archive each. ${OWN_ARCHIVE}`,
  );
}

/** Writes a log to an archive. One round runs at a time. */
export class Archiver {
  readonly #options: ArchiverOptions;
  /** The writer for whom the archive was compared with the journal; null before that, and after a failure. */
  #begunFor: string | null = null;
  /** The end of the sealed segments that follow each other. */
  #sealed: Head = START;
  /** Sealed segments that were listed, by their first entries. */
  #listed = new Map<number, SegmentRange>();
  /** Open parts, each with its last entry. */
  #open = new Map<string, number>();
  /** Last entry of the open part that this writer wrote last. */
  #opened = 0;

  constructor(options: ArchiverOptions) {
    this.#options = options;
  }

  /**
   * Archives all that the journal has now.
   * @param signal ends the round early, after a write that is under way
   * @throws OperatorError where the place or the journal can't be read or written, or the archive is of another log
   */
  async round(round: Round, signal: AbortSignal): Promise<void> {
    const name = openName(round.host, round.epoch);
    try {
      if (this.#begunFor !== name) await this.#begin(round);
      this.#begunFor = name;
      await this.#archive(name, signal);
    } catch (error) {
      this.#begunFor = null;
      throw error;
    }
  }

  async #archive(name: string, signal: AbortSignal): Promise<void> {
    const { journal, clock, archived, segment = SEGMENT } = this.#options;
    while (!signal.aborted) {
      const listed = this.#listed.get(this.#sealed.id + 1);
      if (listed !== undefined) {
        this.#sealed = { id: listed.last, chain: listed.chain };
        continue;
      }
      this.#requireNext();
      const entries = [...firstEntries(journal.entriesAfter(this.#sealed.id), segment)];
      if (!isComplete(entries, segment)) return this.#writeOpen(name, entries);
      await this.#seal(entries);
      archived(this.#sealed.id);
      await pause(clock, SEGMENT_MS, signal);
    }
  }

  /** Compares the archive with the journal, before anything is written. @throws OperatorError where they differ */
  async #begin({ chainId }: Round): Promise<void> {
    const { place } = this.#options;
    this.#sealed = START;
    await this.#requireIdentity(chainId);
    const { segments, open, trimmed } = await contentsOf(place);
    if (trimmed.id > 0) this.#requireOwn({ last: trimmed.id, chain: trimmed.chain }, trimmedName(trimmed));
    this.#sealed = trimmed;
    for (const range of segments) this.#requireOwn(range, segmentName(range));
    this.#listed = new Map(segments.map((range) => [range.first, range]));
    this.#open = new Map();
    this.#opened = 0;
    for (const name of open) await this.#noteOpen(name);
  }

  async #requireIdentity(chainId: number): Promise<void> {
    const { place, journal } = this.#options;
    const found = await identityIn(place);
    const first = journal.chainAt(1);
    if (first !== null) {
      const own = identityOf(chainId, first);
      if (found !== null) return requireSame(place.location, found, own);
      if (await place.create(IDENTITY, identityBytes(own))) return;
      requireSame(place.location, await requireIdentity(place), own);
    } else if (found !== null) {
      // The segments tell whether a trimmed journal is of the same log.
      requireSame(place.location, found, identityOf(chainId, Uint8Array.fromHex(found.first)));
    } else {
      this.#requireNext();
    }
  }

  /** @throws OperatorError where the journal was trimmed beyond what the archive has */
  #requireNext(): void {
    const { place, journal } = this.#options;
    if (journal.trimmedTo() <= this.#sealed.id) return;
    throw new OperatorError(
      `The journal lacks entry ${this.#sealed.id + 1}, and so does the archive at ${place.location}.`,
      'An archive begins with entry 1 and has no gap. Name the archive that this data was archived to, put its objects back, or begin with a journal that is whole.',
    );
  }

  /** @throws OperatorError where the log doesn't have the entries of an object, as far as the journal tells */
  #requireOwn({ last, chain }: Pick<SegmentRange, 'last' | 'chain'>, name: string): void {
    const { place, journal } = this.#options;
    if (last < journal.trimmedTo()) return;
    const own = journal.chainAt(last);
    if (own === null) {
      throw diverged(place.location, `${name} ends with entry ${last}, and the log with entry ${journal.lastId()}`);
    }
    if (!sameChain(own, chain)) throw diverged(place.location, `${name} has another entry ${last} than the log`);
  }

  /** Notes an open part of the archive, until a sealed segment replaces it. */
  async #noteOpen(name: string): Promise<void> {
    try {
      const part = await openPart(this.#options.place, name);
      if (part === null) return;
      this.#requireOwn(part, name);
      this.#open.set(name, part.last);
    } catch (error) {
      // A damaged part has nothing that the journal lacks, as far as anybody can tell. It stays, unless it is this writer's own.
      if (!(error instanceof ArchiveDamagedError)) throw error;
    }
  }

  async #seal(entries: readonly Entry[]): Promise<void> {
    const { place } = this.#options;
    const [{ id: first }, { id: last, chain }] = [entries[0]!, entries.at(-1)!];
    const name = segmentName({ first, last, chain });
    const other = (await place.list(segmentBeginning(first))).find((found) => found !== name);
    if (other !== undefined) throw diverged(place.location, `it has ${other} where the log has ${name}`);
    const content = segmentContent(this.#sealed.chain, entries);
    if (!(await place.create(name, await packedSegment(content)))) await this.#requireContent(name, content);
    this.#sealed = { id: last, chain };
    for (const [part, end] of this.#open) {
      if (end > last) continue;
      await place.remove(part);
      this.#open.delete(part);
    }
  }

  /** @throws OperatorError where an object that is there has other content; another version of zstd may make other bytes */
  async #requireContent(name: string, content: Buffer): Promise<void> {
    const { place } = this.#options;
    const there = await place.read(name, { least: 1, most: LONGEST });
    try {
      if (there !== null && content.equals(await segmentContentOf(there))) return;
    } catch (error) {
      if (!(error instanceof SegmentError)) throw error;
    }
    throw new OperatorError(
      `${name} of the archive at ${place.location} is there, with another content than the log has.`,
      'It was not replaced. Run stackside archive verify; if the object is damaged, move it away, and it is written anew.',
    );
  }

  async #writeOpen(name: string, entries: readonly Entry[]): Promise<void> {
    const { place, archived } = this.#options;
    const last = entries.at(-1)?.id ?? this.#sealed.id;
    if (last > this.#sealed.id && last !== this.#opened) {
      await place.write(name, await packedSegment(segmentContent(this.#sealed.chain, entries)));
      this.#open.set(name, last);
      this.#opened = last;
    }
    archived(last);
  }
}
