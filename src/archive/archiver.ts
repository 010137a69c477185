/**
 * Writes a log to an archive, from the journal of this host. A round seals the segments that are complete, and writes what follows
 * as an open part. It begins where the archive ends by its own list, so that an interrupted archive goes on, and writes nothing
 * where the archive is of another log.
 */

import { type Clock, pause } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { hashOfPart, type Place } from '../places/files.ts';
import type { JournalReads } from '../store/files/journal.ts';
import { publicEntry } from '../store/ingest/commands.ts';
import { leaveIn } from '../store/ingest/timelines.ts';
import { type Entry, firstEntries, type Head, LOG_START, type MostEntries, sameChain } from '../store/log/entry.ts';
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
  originIn,
  requireIdentity,
  sealedSegment,
  timelinesIn,
} from './archive.ts';
import { baseAt, basesOf } from './base.ts';
import { type ArchiveHead, ArchiveUntrustedError, HEAD, headBytes, headIn } from './head.ts';
import {
  FORMAT,
  isComplete,
  LONGEST,
  openName,
  packedSegment,
  SEGMENT,
  type SealedRange,
  type Segment,
  SegmentError,
  type SegmentRange,
  segmentBeginning,
  segmentContent,
  segmentContentOf,
  segmentName,
} from './segment.ts';
import type { Signer } from './signing.ts';
import { FIRST, originBytes, originName, readOrigin, type Timeline, timelineName } from './timeline.ts';

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
  /** Entry of the newest base, as far as this host knows: a public archive names the newest. */
  base: number | null;
}

export interface ArchiverOptions {
  place: Place;
  journal: Pick<JournalReads, 'entriesAfter' | 'chainAt' | 'lastId'>;
  clock: Clock;
  /** Signs an archive that is for everybody, so that private commands are withheld; null for a private one. */
  signer: Signer | null;
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
    `Nothing was written to it. If this data is of an earlier state, restore it from the archive: stackside restore --until-entry begins a timeline of its own there. Or import what it lacks. ${OWN_ARCHIVE}`,
  );

/** @throws OperatorError where the archive is of another chain or another log, or is public and the own one isn't, or the reverse */
function requireSame(location: string, found: Identity, own: Identity): void {
  if (found.chain_id !== own.chain_id) {
    throw new OperatorError(
      `The archive at ${location} is of ${chainOfIdentity(found)}, and this log of ${chainOfIdentity(own)}.`,
      OWN_ARCHIVE,
    );
  }
  if (found.first !== own.first) {
    throw new OperatorError(
      `The archive at ${location} is of another log: its entry 1 is another.`,
      `Servers that don't share a log (--cluster) need an archive each. ${OWN_ARCHIVE}`,
    );
  }
  if (found.public === own.public) return;
  throw new OperatorError(
    found.public === true
      ? `The archive at ${location} is public, and --archive-public is not given.`
      : `The archive at ${location} is private, and --archive-public is given.`,
    `Nothing was written to it: an archive stays what it is. Give --archive-public for a public archive alone, or another --archive.`,
  );
}

/** At most one entry. */
const ONE: MostEntries = { entries: 1, bytes: 1 };

/**
 * The first of some entries that begins a timeline; null where none does.
 * @param before the chain value before the first
 * @param after number of an entry that is left out, with those before it
 */
function beginningOf(entries: Iterable<Entry>, before: Uint8Array, after = 0): Entry | null {
  let chain = before;
  for (const entry of entries) {
    if (entry.id > after && leaveIn(entry)?.chain === chain.toHex()) return entry;
    chain = entry.chain;
  }
  return null;
}

/** An object of an archive with other entries than the log has. */
interface Other {
  object: SealedRange | Segment;
  /** The sealed segment before it; null where there is none. */
  after: SegmentRange | null;
  error: OperatorError;
}

/** Returns the newest sound base as the head names it; null if there is none. @param last last entry of the head */
async function signableBase(place: Place, last: number): Promise<ArchiveHead['base']> {
  for (const named of await basesOf(place)) {
    const { name, id } = named;
    if (id > last) continue;
    const bytes = await place.read(name, { least: 1, most: LONGEST });
    if (bytes === null) continue;
    try {
      const base = await baseAt({ ...place, read: async () => bytes }, named);
      if (base !== null) return { name, sha256: hashOfPart(bytes) };
    } catch (error) {
      if (!(error instanceof ArchiveDamagedError)) throw error;
    }
  }
  return null;
}

/** Writes a log to an archive. One round runs at a time. */
export class Archiver {
  readonly #options: ArchiverOptions;
  /** The writer for whom the archive was compared with the journal; null before that, and after a failure. */
  #begunFor: string | null = null;
  /** The timeline of the log. */
  #timeline = FIRST;
  /** The end of the sealed segments that follow each other. */
  #sealed: Head = LOG_START;
  /** Sealed segments that were listed, by their first entries. */
  #listed = new Map<number, SealedRange>();
  /** Open parts, each with its last entry. */
  #open = new Map<string, number>();
  /** The entries of this writer's open part, as it wrote or found it; null where there is none. */
  #opened: { first: number; last: number } | null = null;
  /** Which log the archive is of; null before the first entry. */
  #identity: Identity | null = null;
  /** The sealed segments that follow each other. */
  #segments: SegmentRange[] = [];
  /** The newest base, as it is signed; undefined if it must be looked up. */
  #base: ArchiveHead['base'] | undefined;
  /** Last entry of the head that this writer signed last, and the newest base of the round. */
  #signed = 0;
  #signedFor: Round['base'] = null;

  constructor(options: ArchiverOptions) {
    this.#options = options;
  }

  /**
   * Archives all that the journal has now.
   * @param signal ends the round early, after a write that is under way
   * @throws OperatorError where the place or the journal can't be read or written, or the archive is of another log
   */
  async round(round: Round, signal: AbortSignal): Promise<void> {
    const writer = openName(round.host, round.epoch);
    try {
      if (this.#begunFor !== writer) await this.#begin(round);
      this.#begunFor = writer;
      await this.#archive(round, signal);
    } catch (error) {
      this.#begunFor = null;
      throw error;
    }
  }

  /** Name of this writer's open part. */
  #openName({ host, epoch }: Round): string {
    return openName(host, epoch, this.#timeline.name);
  }

  async #archive(round: Round, signal: AbortSignal): Promise<void> {
    const { clock, archived, segment = SEGMENT } = this.#options;
    while (!signal.aborted) {
      const listed = this.#listed.get(this.#sealed.id + 1);
      if (listed !== undefined) {
        this.#noteSealed(listed);
        continue;
      }
      const entries = [...firstEntries(this.#entriesAfter(this.#sealed.id), segment)];
      // The first entry of a timeline is archived as such alone, whatever of the timeline before is there or is listed.
      const begins = beginningOf(entries, this.#sealed.chain, this.#timeline.origin?.begins.id);
      if (begins !== null) {
        await this.#beginTimeline(round, begins, this.#sealed.id + 1);
        continue;
      }
      if (!isComplete(entries, segment)) {
        await this.#writeOpen(this.#openName(round), entries);
        return this.#sign(round, entries.at(-1) ?? this.#sealed);
      }
      await this.#seal(entries);
      archived(this.#sealed.id);
      await pause(clock, SEGMENT_MS, signal);
    }
  }

  /**
   * The entries after a number as the archive has them. A segment ends by what it has, so that a journal that has commands and one
   * that withholds them make the same public segments.
   */
  *#entriesAfter(id: number): Generator<Entry> {
    const { journal, signer } = this.#options;
    for (const entry of journal.entriesAfter(id)) yield signer === null ? entry : publicEntry(entry);
  }

  /** Compares the archive with the journal, before anything is written. @throws OperatorError where they differ */
  async #begin(round: Round): Promise<void> {
    this.#sealed = LOG_START;
    this.#segments = [];
    this.#signed = 0;
    this.#base = undefined;
    this.#identity = await this.#requireIdentity(round.chainId);
    await this.#requireOwnSignature();
    const { timelines, faults } = await timelinesIn(this.#options.place);
    this.#timeline = await this.#ownTimeline(timelines);
    const other = await this.#note(round);
    if (other === null) return;
    // The log may be on a timeline that can't be read.
    for (const { fault } of faults) if (fault !== null) throw new ArchiveDamagedError(this.#options.place, fault);
    await this.#beginTimeline(round, await this.#leaving(other), (other.after?.last ?? 0) + 1);
  }

  /**
   * Notes what the archive has of the log's timeline.
   * @returns the first object with other entries than the log has; null where there is none
   */
  async #note(round: Round): Promise<Other | null> {
    const { segments, open } = await contentsOf(this.#options.place, this.#timeline);
    this.#sealed = LOG_START;
    this.#listed = new Map(segments.map((range) => [range.first, range]));
    this.#open = new Map();
    this.#opened = null;
    for (const [at, range] of segments.entries()) {
      const error = this.#otherThan(range, segmentName(range));
      if (error !== null) return { object: range, after: segments[at - 1] ?? null, error };
    }
    // A list that is too old lacks the part of this writer's last life, which it would replace.
    for (const name of new Set([...open, this.#openName(round)])) {
      const other = await this.#noteOpen(name, name === this.#openName(round));
      if (other !== null) return other;
    }
    return null;
  }

  /** The timeline of the archive that the log is on, as far as the journal tells: the one among them that begins last. */
  async #ownTimeline(timelines: readonly Timeline[]): Promise<Timeline> {
    const beginning = ({ origin }: Timeline): number => origin?.begins.id ?? 0;
    for (const timeline of timelines.toSorted((a, b) => beginning(b) - beginning(a))) {
      const begins = timeline.origin?.begins ?? null;
      const own = begins === null ? null : this.#options.journal.chainAt(begins.id);
      if (begins !== null && own !== null && sameChain(own, begins.chain)) return timeline;
    }
    return FIRST;
  }

  /**
   * The entry with which the log began a timeline where an object has other entries.
   * @throws OperatorError where it began none there
   */
  async #leaving({ object, error }: Other): Promise<Entry> {
    const { place, journal } = this.#options;
    const segment = 'entries' in object ? object : await sealedSegment(place, object, null, this.#timeline);
    const shared = [{ id: segment.first - 1, chain: segment.before }, ...segment.entries].findLast(({ id, chain }) => {
      const own = journal.chainAt(id);
      return own !== null && sameChain(own, chain);
    });
    if (shared === undefined || journal.lastId() === shared.id) throw error;
    const begins = beginningOf(firstEntries(this.#entriesAfter(shared.id), ONE), shared.chain);
    if (begins === null) throw error;
    return begins;
  }

  /**
   * Begins a timeline in the archive, which leaves the present one.
   * @param begins its first entry
   * @param first the entry after the last segment that both share
   */
  async #beginTimeline(round: Round, begins: Entry, first: number): Promise<void> {
    const { place, journal } = this.#options;
    const parent = this.#timeline;
    const name = timelineName(begins);
    const id = begins.id - 1;
    const bytes = originBytes(parent.name, { id, chain: journal.chainAt(id) ?? LOG_START.chain }, begins, first);
    const isNew = await place.create(originName(name), bytes);
    // Another host of this log may have been first.
    const origin = isNew ? readOrigin(name, bytes) : await originIn(place, name);
    if (origin?.parent !== parent.name) {
      throw diverged(place.location, `${originName(name)} doesn't say that it leaves the timeline ${parent.name}`);
    }
    this.#timeline = { name, origin: { ...origin, timeline: parent } };
    this.#sealed = LOG_START;
    const other = await this.#note(round);
    if (other !== null) throw other.error;
  }

  /** @returns which log the archive is of; null before the first entry */
  async #requireIdentity(chainId: number): Promise<Identity | null> {
    const { place, journal, signer } = this.#options;
    const first = journal.chainAt(1);
    if (first === null) return null;
    const own = identityOf(chainId, first, signer !== null);
    const found = await identityIn(place);
    if (found === null && (await place.create(IDENTITY, identityBytes(own)))) return own;
    const there = found ?? (await requireIdentity(place));
    requireSame(place.location, there, own);
    return there;
  }

  /** @throws OperatorError where a public archive is signed with another key */
  async #requireOwnSignature(): Promise<void> {
    const { place, signer } = this.#options;
    if (signer === null) return;
    try {
      await headIn(place, signer.publicKey);
    } catch (error) {
      if (error instanceof ArchiveDamagedError) return;
      if (!(error instanceof ArchiveUntrustedError)) throw error;
      throw new OperatorError(
        error.message,
        `All hosts of a log sign with the same archive.key: copy it from the host that signed. To sign with another key from now on, remove ${HEAD} from the archive, and publish the new key.`,
        { cause: error },
      );
    }
  }

  #noteSealed({ first, last, chain }: SegmentRange): void {
    this.#sealed = { id: last, chain };
    this.#segments.push({ first, last, chain });
    // One that another host made meanwhile is signed with the next segment.
    this.#base = undefined;
  }

  /** Signs the head of a public archive, if it has changed. */
  async #sign(round: Round, { id, chain }: Head): Promise<void> {
    const { place, clock, signer } = this.#options;
    const isNewBase = round.base !== this.#signedFor;
    if (signer === null || this.#identity === null || (id === this.#signed && !isNewBase)) return;
    if (isNewBase) this.#base = undefined;
    if (this.#base === undefined) this.#base = await signableBase(place, id);
    const head: ArchiveHead = {
      format: FORMAT,
      archive: this.#identity,
      written_at: new Date(clock.now()).toISOString(),
      entry: id,
      chain: chain.toHex(),
      base: this.#base,
      segments: this.#segments.map(segmentName),
      open: id === this.#sealed.id ? null : this.#openName(round),
    };
    await place.write(HEAD, headBytes(head, signer));
    this.#signed = id;
    this.#signedFor = round.base;
  }

  /** How the log differs from an object, as far as the journal tells; null where it doesn't. */
  #otherThan({ last, chain }: Pick<SegmentRange, 'last' | 'chain'>, name: string): OperatorError | null {
    const { place, journal } = this.#options;
    const own = journal.chainAt(last);
    if (own === null) {
      return diverged(place.location, `${name} ends with entry ${last}, and the log with entry ${journal.lastId()}`);
    }
    return sameChain(own, chain) ? null : diverged(place.location, `${name} has another entry ${last} than the log`);
  }

  /** Notes an open part of the archive, until a sealed segment replaces it. @returns it where it has other entries than the log */
  async #noteOpen(name: string, isOwn: boolean): Promise<Other | null> {
    try {
      const part = await openPart(this.#options.place, name);
      if (part === null) return null;
      const error = this.#otherThan(part, name);
      if (error !== null) return { object: part, after: [...this.#listed.values()].at(-1) ?? null, error };
      this.#open.set(name, part.last);
      if (isOwn) this.#opened = { first: part.first, last: part.last };
      return null;
    } catch (error) {
      // A damaged part has nothing that the journal lacks, as far as anybody can tell. It stays, unless it is this writer's own.
      if (!(error instanceof ArchiveDamagedError)) throw error;
      return null;
    }
  }

  async #seal(entries: readonly Entry[]): Promise<void> {
    const { place } = this.#options;
    const [{ id: first }, { id: last, chain }] = [entries[0]!, entries.at(-1)!];
    const timeline = this.#timeline.name;
    const name = segmentName({ first, last, chain, timeline });
    const other = (await place.list(segmentBeginning(first, timeline))).find((found) => found !== name);
    if (other !== undefined) throw diverged(place.location, `it has ${other} where the log has ${name}`);
    const content = segmentContent(this.#sealed.chain, entries);
    if (!(await place.create(name, await packedSegment(content)))) await this.#requireContent(name, content);
    this.#noteSealed({ first, last, chain });
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
    const first = this.#sealed.id + 1;
    const isThere = this.#opened?.first === first && this.#opened.last === last;
    if (last >= first && !isThere) {
      await place.write(name, await packedSegment(segmentContent(this.#sealed.chain, entries)));
      this.#open.set(name, last);
      this.#opened = { first, last };
    }
    archived(last);
  }
}
