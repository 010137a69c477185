/**
 * Entries of an archive for a journal that lacks them. They are taken from sealed segments alone, which follow each other by their
 * names from the first one to the one with the last entry that the journal lacks, and that entry must have the chain value that the
 * journal has of it.
 */

import { OperatorError } from '../base/errors.ts';
import { WITHHELD_PATH } from '../chain/payload-reader.ts';
import type { Place } from '../places/files.ts';
import { type Entry, firstEntries, type Head, type MostEntries, sameChain } from '../store/log/entry.ts';
import {
  ArchiveDamagedError,
  chosenTimeline,
  contentsOf,
  type LinkedSegments,
  linkedFrom,
  requireIdentity,
  sealedSegment,
  timelinesIn,
} from './archive.ts';
import type { Segment } from './segment.ts';
import type { Timeline } from './timeline.ts';

type Link = LinkedSegments['linked'][number] & { timeline: Timeline };

/** Segments that are read before they are asked for, and those that stay in memory, a few megabytes each. */
const AHEAD = 2;
const RETAINED = 6;

/** The place of the segment that has an entry among those that follow each other; -1 where none has. */
function placeOf(links: readonly Pick<Link, 'range'>[], id: number): number {
  let [from, to] = [0, links.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (links[middle]!.range.last < id) from = middle + 1;
    else to = middle;
  }
  return from < links.length && links[from]!.range.first <= id ? from : -1;
}

/** An archive that doesn't have what a journal lacks: it ends before, is of another log, or withholds commands. */
export class UnfitArchiveError extends OperatorError {}

/** Whether the journal that lacks entries withholds private commands, as one does that was restored from a public archive. */
export type Withholds = () => boolean;

/** Whether an archive may lack commands that the journal has. @throws OperatorError where there is none */
async function lacksCommands(place: Place, withholds: Withholds): Promise<boolean> {
  return (await requireIdentity(place)).public === true && !withholds();
}

/** @throws UnfitArchiveError where entries are withheld that a journal may have had whole */
function requireCommands({ location }: Place, { entries }: Segment): void {
  const entry = entries.find(({ path }) => path === WITHHELD_PATH);
  if (entry === undefined) return;
  throw new UnfitArchiveError(
    `The archive at ${location} is public, and withholds the private command that is entry ${entry.id} of the log.`,
    'Name the private archive that this data was archived to with --archive.',
  );
}

export interface ArchivedEntries {
  /**
   * Reads an entry and some that follow it in its segment.
   * @param lacked the last entry that the journal lacks
   * @param most maximum entries and bytes of texts; one entry may have more
   * @throws ArchiveDamagedError where an object is missing or damaged, UnfitArchiveError; OperatorError where the archive can't be
   *   read, which may pass
   */
  from(id: number, lacked: Head, most: MostEntries): Promise<Entry[]>;
}

export function archivedEntries(place: Place, withholds: Withholds): ArchivedEntries {
  /** The segments that are known to lead to an entry of the journal's log, and that entry. */
  let known: { links: readonly Link[]; to: Head } | null = null;
  /** Segments by their first entries, in the order of their last use. */
  const segments = new Map<number, Promise<Segment>>();
  let isLacking = false;

  async function read({ range, after, timeline }: Link): Promise<Segment> {
    const segment = await sealedSegment(place, range, after, timeline);
    if (isLacking) requireCommands(place, segment);
    return segment;
  }

  function segmentOf(link: Link): Promise<Segment> {
    const { range } = link;
    const found = segments.get(range.first) ?? read(link);
    segments.delete(range.first);
    segments.set(range.first, found);
    for (const first of [...segments.keys()].slice(0, -RETAINED)) segments.delete(first);
    // It may be read ahead in vain, and is read again after a failure.
    found.catch(() => segments.delete(range.first));
    return found;
  }

  /** The sealed segments of a timeline that lead to the last entry that the journal lacks, or why they don't. */
  async function linksOf(timeline: Timeline, lacked: Head): Promise<readonly Link[] | OperatorError> {
    const contents = await contentsOf(place, timeline);
    const { linked, last, fault } = linkedFrom(contents, contents.trimmed.id + 1);
    const links = linked.map((link) => ({ ...link, timeline }));
    const link = links[placeOf(links, lacked.id)];
    if (link === undefined) {
      if (fault !== null) return new ArchiveDamagedError(place, fault);
      return new UnfitArchiveError(
        `The journal lacks the entries up to ${lacked.id}, and the sealed segments of the archive at ${place.location} end with entry ${last.id}.`,
        'Name the archive that this data was archived to with --archive, or restore a backup that has these entries.',
      );
    }
    const { first, entries } = await segmentOf(link);
    if (sameChain(entries[lacked.id - first]!.chain, lacked.chain)) return links;
    return new UnfitArchiveError(
      `The archive at ${place.location} is of another log: its entry ${lacked.id} is another than that of the journal.`,
      'Name the archive that this data was archived to with --archive.',
    );
  }

  /** Lists the archive, and requires that one of its timelines has the last entry that the journal lacks. */
  async function linksTo(lacked: Head): Promise<readonly Link[]> {
    isLacking = await lacksCommands(place, withholds);
    const { timelines } = await timelinesIn(place);
    let unfit: OperatorError | null = null;
    for (const timeline of timelines.toReversed()) {
      const links = await linksOf(timeline, lacked);
      if (!(links instanceof OperatorError)) return links;
      unfit ??= links;
    }
    throw unfit!;
  }

  return {
    async from(id, lacked, most) {
      if (known === null || id > known.to.id) known = { links: await linksTo(lacked), to: lacked };
      const { links, to } = known;
      const at = placeOf(links, id);
      if (at < 0) {
        throw new UnfitArchiveError(
          `The journal lacks entry ${id}, and the archive at ${place.location} no longer has it.`,
          'Its --archive-keep-segments removed the segment. Import the entries from another data directory or server.',
        );
      }
      try {
        const { first, entries } = await segmentOf(links[at]!);
        for (const link of links.slice(at + 1, at + 1 + AHEAD)) if (link.range.first <= to.id) void segmentOf(link);
        return [...firstEntries(entries.slice(id - first, to.id + 1 - first), most)];
      } catch (error) {
        // The archive may have been mended when it is listed next.
        if (error instanceof ArchiveDamagedError) known = null;
        throw error;
      }
    },
  };
}

/**
 * The end of the sealed segment that has an entry, for a journal that is to be trimmed up to the entry. The segment and those before
 * it, from the one with the first entry on, are read back, since what is trimmed must be certain; that all segments before these are
 * there is seen by their names.
 * @param first the first entry that is to be trimmed
 * @returns null where no sealed segment has the entry yet
 * @throws ArchiveDamagedError at a gap or a damaged segment; UnfitArchiveError where it withholds what the journal has; OperatorError
 *   where the archive can't be read
 */
export async function sealedUpTo(
  place: Place,
  withholds: Withholds,
  first: number,
  entry: number,
): Promise<Head | null> {
  const isLacking = await lacksCommands(place, withholds);
  // Whether it is the log's is told by the chain value at the end.
  const timeline = await chosenTimeline(place, null);
  const contents = await contentsOf(place, timeline);
  const { linked, fault } = linkedFrom(contents, contents.trimmed.id + 1);
  const at = placeOf(linked, entry);
  if (at < 0) {
    if (fault !== null) throw new ArchiveDamagedError(place, fault);
    return null;
  }
  for (const { range, after } of linked.slice(Math.max(0, placeOf(linked, first)), at + 1)) {
    const segment = await sealedSegment(place, range, after, timeline);
    if (isLacking) requireCommands(place, segment);
  }
  const { last: id, chain } = linked[at]!.range;
  return { id, chain };
}
