/**
 * An archive: the entries of one log as segments in a place, with an object that says which log it is (`archive.json`). Nothing
 * that is read of it is taken on trust: a segment counts once it follows the one before by its chain values.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { mapAhead } from '../base/map-ahead.ts';
import { chainIdText, networkOf } from '../chain/network.ts';
import { strictText } from '../codec/utf8.ts';
import type { BackupSource, PlaceReads } from '../places/files.ts';
import { type Head, LOG_START, sameChain } from '../store/log/entry.ts';
import {
  FORMAT,
  isOpenName,
  LONGEST,
  OPEN_PARTS,
  rangeOfName,
  readSegment,
  SEGMENTS,
  type SealedRange,
  type Segment,
  SegmentError,
  segmentName,
} from './segment.ts';
import {
  FIRST,
  type Origin,
  OriginError,
  type OriginOf,
  originName,
  readOrigin,
  TIMELINES,
  type Timeline,
  timelineOfName,
  timelineOfOrigin,
} from './timeline.ts';

const REMEDY =
  'Put the object back from a copy of the archive, or from a host of the log that still has the entries: it archives what is missing.';

/** A fault of an archive, by the name of the object or the entries that are missing. */
export class ArchiveDamagedError extends OperatorError {
  override readonly name = 'ArchiveDamagedError';
  /** @param fault the end of a sentence that begins with the archive */
  constructor(
    { location }: Pick<BackupSource, 'location'>,
    readonly fault: string,
    options?: ErrorOptions,
  ) {
    super(`The archive at ${location} is damaged: ${fault}.`, REMEDY, options);
  }
}

/**
 * Reads an object. One that is damaged is read once more before it counts as such: a server may end a body as if it were complete.
 * @returns null where there is no such object
 * @throws ArchiveDamagedError as `sound` does; OperatorError where the place can't be read
 */
export async function readSoundly<T>(
  place: BackupSource,
  name: string,
  most: number,
  sound: (bytes: Uint8Array) => Promise<T>,
): Promise<T | null> {
  const read = async (): Promise<T | null> => {
    const bytes = await place.read(name, { least: 1, most });
    return bytes === null ? null : sound(bytes);
  };
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ArchiveDamagedError)) throw error;
    return read();
  }
}

/** The object that says which log an archive is of. */
export const IDENTITY = 'archive.json';
const LONGEST_IDENTITY = 64 * 1024;

export const Identity = Type.Object({
  format: Type.Literal(FORMAT),
  chain_id: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  network: Type.Union([Type.Literal('mainnet'), Type.Literal('testnet')]),
  /** Chain value of entry 1, in hex. It has the time of receipt, so that two logs have the same one only as copies. */
  first: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** Whether everybody may read it: private commands are withheld. A private archive lacks the field. */
  public: Type.Optional(Type.Literal(true)),
});
/** Which log an archive is of. */
export type Identity = Static<typeof Identity>;

export const identityOf = (chainId: number, first: Uint8Array, isPublic: boolean): Identity => ({
  format: FORMAT,
  chain_id: chainId,
  network: networkOf(chainId).kind,
  first: first.toHex(),
  ...(isPublic ? { public: true } : {}),
});

export const identityBytes = (identity: Identity): Buffer => Buffer.from(`${JSON.stringify(identity)}\n`);

/** Words for the chain of an archive. */
export const chainOfIdentity = ({ network, chain_id }: Pick<Identity, 'network' | 'chain_id'>): string =>
  `${network} (chain ${chainIdText(chain_id)})`;

/**
 * Reads which log an archive is of.
 * @returns null where there is no archive
 * @throws OperatorError where a newer program made it, or the object is damaged
 */
export const identityIn = (place: BackupSource): Promise<Identity | null> =>
  readSoundly(place, IDENTITY, LONGEST_IDENTITY, async (bytes) => {
    const identity = parsedJson(strictText(bytes) ?? '');
    const format = Object(identity).format;
    if (typeof format === 'number' && format > FORMAT) {
      throw new OperatorError(
        `The archive at ${place.location} has format ${format}; this program knows format ${FORMAT}.`,
        'Use the newer Stackside that made it.',
      );
    }
    if (Value.Check(Identity, identity)) return identity;
    throw new ArchiveDamagedError(place, `${IDENTITY} doesn't say which log it is of`);
  });

/** @throws OperatorError where there is no archive */
export async function requireIdentity(place: BackupSource): Promise<Identity> {
  const identity = await identityIn(place);
  if (identity !== null) return identity;
  throw new OperatorError(
    `There is no archive at ${place.location}: it has no ${IDENTITY}.`,
    'Check the location; stackside backup and stackside serve --archive make one.',
  );
}

/** Maximum bytes of an object that says where a timeline leaves another. */
const LONGEST_ORIGIN = 64 * 1024;

/**
 * Reads where a timeline leaves another.
 * @returns null where there is no such object
 * @throws ArchiveDamagedError; OperatorError where the place can't be read
 */
export const originIn = (place: PlaceReads, timeline: string): Promise<Origin | null> =>
  readSoundly(place, originName(timeline), LONGEST_ORIGIN, async (bytes) => {
    try {
      return readOrigin(timeline, bytes);
    } catch (cause) {
      if (!(cause instanceof OriginError)) throw cause;
      throw new ArchiveDamagedError(place, `${originName(timeline)} ${cause.message}`, { cause });
    }
  });

/** The timelines of an archive, and what is wrong with others. */
export interface Timelines {
  /** The first one, then the others in the order in which they began. */
  timelines: Timeline[];
  faults: Pick<Verified, 'name' | 'fault'>[];
}

/** Reads which timelines an archive has. @throws OperatorError where the place can't be read */
export async function timelinesIn(place: PlaceReads): Promise<Timelines> {
  const listed = await place.list(TIMELINES);
  const faults: Timelines['faults'] = [];
  const found: (Origin & { name: string })[] = [];
  const names = new Set(listed.flatMap((name) => timelineOfOrigin(name) ?? timelineOfName(name)));
  names.delete(FIRST.name);
  for (const name of names) {
    try {
      const origin = await originIn(place, name);
      const fault = `it has objects of the timeline ${name}, but lacks ${originName(name)}`;
      if (origin === null) faults.push({ name: originName(name), fault });
      else found.push({ name, ...origin });
    } catch (error) {
      faults.push({ name: originName(name), fault: faultIn(error) });
    }
  }
  const known = new Map([[FIRST.name, FIRST]]);
  // A timeline begins after the one that it leaves.
  for (const { name, ...origin } of found.sort((a, b) => a.begins.id - b.begins.id)) {
    const parent = known.get(origin.parent);
    const fault =
      parent === undefined
        ? `it lacks the timeline ${origin.parent}, which the timeline ${name} leaves`
        : origin.left.id < (parent.origin?.begins.id ?? 0)
          ? `${originName(name)} says that it leaves the timeline ${origin.parent} before that one begins`
          : null;
    if (parent !== undefined && fault === null) known.set(name, { name, origin: { ...origin, timeline: parent } });
    else faults.push({ name: originName(name), fault });
  }
  const began = ({ origin }: Timeline): number => origin?.beganAt ?? Number.NEGATIVE_INFINITY;
  return {
    timelines: [...known.values()].sort((a, b) => began(a) - began(b) || (a.name < b.name ? -1 : 1)),
    faults,
  };
}

/**
 * The timeline of a name; without one, the timeline that began last, among those that have entries of their own.
 * @throws OperatorError where there is none of the name, or what is damaged leaves open which one is the newest
 */
export async function chosenTimeline(place: PlaceReads, name: string | null): Promise<Timeline> {
  const { timelines, faults } = await timelinesIn(place);
  if (name !== null) {
    const named = timelines.find((timeline) => timeline.name === name);
    if (named !== undefined) return named;
    const fault = faults.find((found) => found.name === originName(name))?.fault;
    if (typeof fault === 'string') throw new ArchiveDamagedError(place, fault);
    throw new OperatorError(
      `The archive at ${place.location} has no timeline ${name}.`,
      'Give the name of one that stackside archive status shows.',
    );
  }
  const [fault] = faults;
  if (fault !== undefined) {
    throw new OperatorError(
      `The archive at ${place.location} is damaged: ${fault.fault}. So it is open which timeline is the newest.`,
      'Put the object back from a copy of the archive, or name the timeline that you want with --timeline.',
    );
  }
  const objects = await place.list(TIMELINES);
  const own = new Set(objects.filter((found) => timelineOfOrigin(found) === null).map(timelineOfName));
  return timelines.findLast((timeline) => own.has(timeline.name)) ?? FIRST;
}

/** The objects of a timeline by their names. */
export interface Contents {
  /** Sealed segments in the order of their first entries, with those of the timelines before that it shares. */
  segments: SealedRange[];
  /** Names of its open parts. */
  open: string[];
}

function sharedSegments(all: readonly SealedRange[], { name, origin }: Timeline): SealedRange[] {
  const own = all.filter(({ timeline }) => timeline === name);
  if (origin === null) return own;
  const shared = sharedSegments(all, origin.timeline).filter(({ last }) => last < origin.first);
  // A writer whose list is too old seals again what both share: the same entries, since a segment ends by the log alone.
  const firsts = new Set(shared.map(({ first }) => first));
  return [...shared, ...own.filter(({ first }) => !firsts.has(first))];
}

/** Names of all open parts and segments. Parts of bases, which most objects of an archive are, are not listed. */
async function namesOfEntries(place: PlaceReads): Promise<string[]> {
  // Such a list lacks them, and is of one moment as a whole.
  if (place.listsAtOnce === true) return place.list('');
  const names: string[] = [];
  // In this order: an open part goes once its segment is there.
  for (const beginning of [OPEN_PARTS, SEGMENTS, TIMELINES]) names.push(...(await place.list(beginning)));
  return names;
}

/** Lists what a timeline has. A place may list late what was written last. @throws OperatorError */
export async function contentsOf(place: PlaceReads, timeline = FIRST): Promise<Contents> {
  const names = await namesOfEntries(place);
  const all = names.map(rangeOfName).filter((range) => range !== null);
  return {
    segments: sharedSegments(all, timeline).sort((a, b) => a.first - b.first || a.last - b.last),
    open: names.filter((name) => isOpenName(name) && timelineOfName(name) === timeline.name),
  };
}

/**
 * Requires that entries are those with which their timeline, and those before it, began.
 * @param name of the object that has them
 * @throws ArchiveDamagedError
 */
function requireTimeline(place: BackupSource, timeline: Timeline, name: string, { first, entries }: Segment): void {
  for (let { origin } = timeline; origin !== null; origin = origin.timeline.origin) {
    const { id, chain } = origin.begins;
    const found = entries[id - first];
    if (found === undefined || sameChain(found.chain, chain)) continue;
    throw new ArchiveDamagedError(place, `${name} is of another timeline: its entry ${id} is another`);
  }
}

const entriesText = (first: number, last: number): string =>
  first === last ? `entry ${first}` : `entries ${first} to ${last}`;

/** Segments that follow each other by their names, and what comes between them and the next one. */
export interface LinkedSegments {
  linked: { range: SealedRange; after: Head }[];
  /** The head at their end. */
  last: Head;
  /** What is wrong with the next one, as the end of a sentence that begins with the archive; null where nothing is. */
  fault: string | null;
}

/**
 * The sealed segments that follow each other by their names.
 * @param segments sorted
 * @param after the head that the first one follows
 */
function linkedSegments(segments: readonly SealedRange[], after: Head): LinkedSegments {
  const linked: LinkedSegments['linked'] = [];
  let last = after;
  for (const range of segments) {
    const fault = faultBefore(range, last);
    if (fault !== null) return { linked, last, fault };
    linked.push({ range, after: last });
    last = { id: range.last, chain: range.chain };
  }
  return { linked, last, fault: null };
}

/** Returns the sealed segments that follow each other, from the one that has an entry. @param segments sorted */
export function linkedFrom(segments: readonly SealedRange[], entry: number): LinkedSegments {
  const at = segments.findIndex(({ last }) => last >= entry);
  const wanted = at < 0 ? [] : segments.slice(at);
  const [first] = wanted;
  const before = at === 0 ? undefined : segments.at(at < 0 ? -1 : at - 1);
  const after = before === undefined ? LOG_START : { id: before.last, chain: before.chain };
  // What comes before a segment that has the entry need not be there.
  const isGap = first !== undefined && first.first <= entry && first.first !== after.id + 1;
  return linkedSegments(wanted, isGap ? { id: first.first - 1, chain: new Uint8Array() } : after);
}

/** What is between a head and the segment that is next by its name; null where nothing is. */
function faultBefore(next: SealedRange, last: Head): string | null {
  if (next.first === last.id + 1) return null;
  const name = segmentName(next);
  return next.first > last.id + 1
    ? `it lacks ${entriesText(last.id + 1, next.first - 1)}, which come before ${name}`
    : `${name} begins with entry ${next.first}, and another segment has the entries up to ${last.id}`;
}

/** @throws ArchiveDamagedError naming the object */
async function verifiedSegment(place: BackupSource, name: string, bytes: Uint8Array): Promise<Segment> {
  try {
    return await readSegment(bytes, rangeOfName(name));
  } catch (cause) {
    if (!(cause instanceof SegmentError)) throw cause;
    throw new ArchiveDamagedError(place, `${name} is no sound segment: ${cause.message}`, { cause });
  }
}

const segmentAt = (place: BackupSource, name: string): Promise<Segment | null> =>
  readSoundly(place, name, LONGEST, (bytes) => verifiedSegment(place, name, bytes));

/**
 * Reads a sealed segment, and verifies it.
 * @param last the head that it follows by its name; null, or without a chain value, where what comes before is missing
 * @param timeline whose entries are read
 * @throws ArchiveDamagedError; OperatorError where the place can't be read
 */
export async function sealedSegment(
  place: BackupSource,
  range: SealedRange,
  last: Head | null,
  timeline = FIRST,
): Promise<Segment> {
  const name = segmentName(range);
  const segment = await segmentAt(place, name);
  if (segment === null) throw new ArchiveDamagedError(place, `${name} is missing`);
  if (last !== null && last.chain.length > 0 && !sameChain(segment.before, last.chain)) {
    throw new ArchiveDamagedError(
      place,
      `${name} is of another log: it doesn't follow the chain value of entry ${last.id}`,
    );
  }
  requireTimeline(place, timeline, name, segment);
  return segment;
}

/** An open part. */
export interface OpenPart extends Segment {
  name: string;
}

/**
 * Reads the open part of a name.
 * @returns null where it is gone: a sealed segment has replaced it
 * @throws ArchiveDamagedError; OperatorError where the place can't be read
 */
export async function openPart(place: BackupSource, name: string): Promise<OpenPart | null> {
  const segment = await segmentAt(place, name);
  return segment === null ? null : { name, ...segment };
}

/**
 * The open part that leads furthest from the end of the sealed segments. Parts that end before are of earlier writers.
 * @param names of open parts of the timeline
 * @returns null where none leads further
 * @throws ArchiveDamagedError where one is damaged, doesn't follow the sealed segments, or contradicts another
 */
export async function newestOpenPart(
  place: BackupSource,
  names: readonly string[],
  last: Head,
  timeline = FIRST,
): Promise<OpenPart | null> {
  const parts: OpenPart[] = [];
  for (const name of names) {
    const part = await openPart(place, name);
    if (part === null || part.last <= last.id) continue;
    if (part.first !== last.id + 1) {
      const begins = `${name} begins with entry ${part.first}, and the sealed segments end with entry ${last.id}`;
      throw new ArchiveDamagedError(place, begins);
    }
    if (!sameChain(part.before, last.chain)) {
      throw new ArchiveDamagedError(
        place,
        `${name} is of another log: it doesn't follow the chain value of entry ${last.id}`,
      );
    }
    requireTimeline(place, timeline, name, part);
    parts.push(part);
  }
  const [newest, ...others] = parts.sort((a, b) => b.last - a.last);
  if (newest === undefined) return null;
  const foreign = others.find(({ last: end, chain }) => !sameChain(newest.entries[end - newest.first]!.chain, chain));
  if (foreign === undefined) return newest;
  throw new ArchiveDamagedError(
    place,
    `${foreign.name} and ${newest.name} are of two logs: they differ by entry ${foreign.last}`,
  );
}

/** The chain value that a timeline has for an entry; null where it lacks the entry. @throws ArchiveDamagedError */
async function chainOn(place: PlaceReads, timeline: Timeline, entry: number): Promise<Uint8Array | null> {
  const { open, segments } = await contentsOf(place, timeline);
  const { linked, last } = linkedFrom(segments, entry);
  const found = linked[0];
  const segment =
    found === undefined
      ? await newestOpenPart(place, open, last, timeline)
      : await sealedSegment(place, found.range, found.after, timeline);
  return segment?.entries.find(({ id }) => id === entry)?.chain ?? null;
}

/** Whether a timeline has an entry: this one, another one in its place, or none yet. @throws ArchiveDamagedError */
export async function holds(
  place: PlaceReads,
  timeline: Timeline,
  { id, chain }: Head,
): Promise<'this' | 'other' | 'none'> {
  const found = await chainOn(place, timeline, id);
  if (found === null) return 'none';
  return sameChain(found, chain) ? 'this' : 'other';
}

/** What a timeline of an archive has, and where it ends. */
export interface ArchiveEnd extends LinkedSegments, Contents {
  /** The open part that leads on from the sealed segments that follow each other; null where none does. */
  part: OpenPart | null;
}

/** The end of a timeline, by the names of its segments, of which none is read. @throws as {@link newestOpenPart} */
export async function endOf(place: PlaceReads, timeline = FIRST): Promise<ArchiveEnd> {
  const contents = await contentsOf(place, timeline);
  const linked = linkedFrom(contents.segments, 1);
  const part = linked.fault === null ? await newestOpenPart(place, contents.open, linked.last, timeline) : null;
  return { ...contents, ...linked, part };
}

/** What was verified: an object by its name, or a gap before one. */
export interface Verified {
  name: string;
  first: number;
  last: number;
  /** What is wrong, as the end of a sentence that begins with the archive; null where nothing is. */
  fault: string | null;
}

/** What is wrong, by the error of a reading. @throws any other error */
export function faultIn(error: unknown): string {
  if (error instanceof ArchiveDamagedError) return error.fault;
  throw error;
}

/**
 * What is wrong with where a timeline leaves the one before, as far as that one has the entry; null where nothing is.
 * @throws OperatorError where the place can't be read
 */
async function faultOfOrigin(place: PlaceReads, name: string, { timeline, left }: OriginOf): Promise<string | null> {
  let segment: Segment | null;
  try {
    const { linked, part } = await endOf(place, timeline);
    const step = linked.find(({ range }) => range.first <= left.id && left.id <= range.last);
    segment = step === undefined ? part : await sealedSegment(place, step.range, step.after, timeline);
  } catch (error) {
    // What is wrong with the other timeline is said with its own objects.
    faultIn(error);
    return null;
  }
  const found = segment?.entries[left.id - segment.first];
  if (found === undefined || sameChain(found.chain, left.chain)) return null;
  return `${originName(name)} is of another log: the timeline ${timeline.name} has another entry ${left.id} than it says`;
}

/** Reads every object of an archive, and verifies it. @throws OperatorError where the place can't be read */
export async function* verifiedArchive(place: PlaceReads): AsyncGenerator<Verified> {
  const { timelines, faults } = await timelinesIn(place);
  for (const fault of faults) yield { ...fault, first: 0, last: 0 };
  for (const timeline of timelines) {
    const { name, origin } = timeline;
    if (origin !== null) {
      const fault = await faultOfOrigin(place, name, origin);
      yield { name: originName(name), first: origin.begins.id, last: origin.begins.id, fault };
    }
    yield* verifiedTimeline(place, timeline);
  }
}

/** Reads every object of a timeline, and verifies it. @throws OperatorError where the place can't be read */
async function* verifiedTimeline(place: PlaceReads, timeline: Timeline): AsyncGenerator<Verified> {
  const { segments, open } = await contentsOf(place, timeline);
  const steps = segments
    .map((range, at) => {
      const before = segments[at - 1];
      const last = before === undefined ? LOG_START : { id: before.last, chain: before.chain };
      return { range, last, gap: faultBefore(range, last) };
    })
    .filter(({ range }) => range.timeline === timeline.name);
  const read = mapAhead(steps, async ({ range, last, gap }) => ({
    ...{ name: segmentName(range), first: range.first, last: range.last, gap },
    fault: await sealedSegment(place, range, gap === null ? last : null, timeline).then(() => null, faultIn),
  }));
  for await (const { gap, ...found } of read) {
    if (gap !== null) yield { ...found, fault: gap };
    yield found;
  }
  const end = segments.at(-1);
  const last = end === undefined ? LOG_START : { id: end.last, chain: end.chain };
  try {
    const part = await newestOpenPart(place, open, last, timeline);
    if (part !== null) yield { name: part.name, first: part.first, last: part.last, fault: null };
  } catch (error) {
    yield { name: '', first: 0, last: 0, fault: faultIn(error) };
  }
}
