/**
 * An archive: the entries of one log as segments in a place, with an object that says which log it is (`archive.json`). Nothing
 * that is read of it is taken on trust: a segment counts once it follows the one before by its chain values.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { mapAhead } from '../backup/backup.ts';
import type { Place } from '../backup/manifest.ts';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { chainIdText, networkOf } from '../chain/network.ts';
import { strictText } from '../codec/utf8.ts';
import { CHAIN_START, type Head, sameChain } from '../store/log/entry.ts';
import {
  FORMAT,
  isOpenName,
  LONGEST,
  rangeOfName,
  readSegment,
  type Segment,
  SegmentError,
  type SegmentRange,
  segmentName,
} from './segment.ts';

const REMEDY =
  'Put the object back from a copy of the archive, or from a host of the log that still has the entries: it archives what is missing.';

/** A fault of an archive, by the name of the object or the entries that are missing. */
export class ArchiveDamagedError extends OperatorError {
  /** @param fault the end of a sentence that begins with the archive */
  constructor(
    { location }: Pick<Place, 'location'>,
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
async function readSoundly<T>(
  place: Place,
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

const Identity = Type.Object({
  format: Type.Literal(FORMAT),
  chain_id: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  network: Type.Union([Type.Literal('mainnet'), Type.Literal('testnet')]),
  /** Chain value of entry 1, in hex. It has the time of receipt, so that two logs have the same one only as copies. */
  first: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
/** Which log an archive is of. */
export type Identity = Static<typeof Identity>;

export const identityOf = (chainId: number, first: Uint8Array): Identity => ({
  format: FORMAT,
  chain_id: chainId,
  network: networkOf(chainId).kind,
  first: first.toHex(),
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
export const identityIn = (place: Place): Promise<Identity | null> =>
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
export async function requireIdentity(place: Place): Promise<Identity> {
  const identity = await identityIn(place);
  if (identity !== null) return identity;
  throw new OperatorError(
    `There is no archive at ${place.location}: it has no ${IDENTITY}.`,
    'Check the location; stackside serve --archive makes an archive.',
  );
}

/** How the name begins that says which entries were removed. */
const TRIMMED = 'trimmed-';

/** The name of the object that says that an archive begins after an entry: the segments up to there were removed. */
export const trimmedName = ({ id, chain }: Head): string =>
  `${TRIMMED}${String(id).padStart(12, '0')}-${chain.toHex()}.json`;

/** The last entry that was removed; the head before the first entry where none was. */
function trimmedIn(names: readonly string[]): Head {
  const heads = names
    .map((name) => /^trimmed-(\d{12,15})-([0-9a-f]{64})\.json$/.exec(name))
    .filter((match) => match !== null)
    .map(([, id = '', chain = '']): Head => ({ id: Number(id), chain: Uint8Array.fromHex(chain) }));
  return heads.reduce((last, head) => (head.id > last.id ? head : last), START);
}

/** The names in an archive. */
export interface Contents {
  /** The last entry that was removed; number 0 where the archive begins with entry 1. */
  trimmed: Head;
  /** Sealed segments in the order of their first entries. */
  segments: SegmentRange[];
  /** Names of open parts. */
  open: string[];
}

/** Lists an archive. A place may list late what was written last. @throws OperatorError */
export async function contentsOf(place: Place): Promise<Contents> {
  const names = await place.list('');
  const trimmed = trimmedIn(names);
  const segments = names.map(rangeOfName).filter((range) => range !== null);
  return {
    trimmed,
    segments: segments.sort((a, b) => a.first - b.first || a.last - b.last),
    open: names.filter(isOpenName),
  };
}

/** The head before the first entry. */
export const START: Head = { id: 0, chain: CHAIN_START };

const entriesText = (first: number, last: number): string =>
  first === last ? `entry ${first}` : `entries ${first} to ${last}`;

/** Segments that follow each other by their names, and what comes between them and the next one. */
export interface LinkedSegments {
  linked: { range: SegmentRange; after: Head }[];
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
function linkedSegments(segments: readonly SegmentRange[], after: Head): LinkedSegments {
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

/** The sealed segments that follow each other from the one on that has an entry, as far as it was not removed. */
export function linkedFrom(contents: Pick<Contents, 'segments' | 'trimmed'>, entry: number): LinkedSegments {
  const { trimmed } = contents;
  const segments = contents.segments.filter(({ last }) => last > trimmed.id);
  const at = segments.findIndex(({ last }) => last >= entry);
  const wanted = at < 0 ? [] : segments.slice(at);
  const [first] = wanted;
  const before = at === 0 ? undefined : segments.at(at < 0 ? -1 : at - 1);
  const after = before === undefined ? trimmed : { id: before.last, chain: before.chain };
  // What comes before a segment that has the entry need not be there.
  const isGap = first !== undefined && first.first <= entry && first.first !== after.id + 1;
  return linkedSegments(wanted, isGap ? { id: first.first - 1, chain: new Uint8Array() } : after);
}

/** What is between a head and the segment that is next by its name; null where nothing is. */
function faultBefore(next: SegmentRange, last: Head): string | null {
  if (next.first === last.id + 1) return null;
  const name = segmentName(next);
  return next.first > last.id + 1
    ? `it lacks ${entriesText(last.id + 1, next.first - 1)}, which come before ${name}`
    : `${name} begins with entry ${next.first}, and another segment has the entries up to ${last.id}`;
}

/** @throws ArchiveDamagedError naming the object */
async function verifiedSegment(place: Place, name: string, bytes: Uint8Array): Promise<Segment> {
  try {
    return await readSegment(bytes, rangeOfName(name));
  } catch (cause) {
    if (!(cause instanceof SegmentError)) throw cause;
    throw new ArchiveDamagedError(place, `${name} is no sound segment: ${cause.message}`, { cause });
  }
}

const segmentAt = (place: Place, name: string): Promise<Segment | null> =>
  readSoundly(place, name, LONGEST, (bytes) => verifiedSegment(place, name, bytes));

/**
 * Reads a sealed segment, and verifies it.
 * @param last the head that it follows by its name; null, or without a chain value, where what comes before is missing
 * @throws ArchiveDamagedError; OperatorError where the place can't be read
 */
export async function sealedSegment(place: Place, range: SegmentRange, last: Head | null): Promise<Segment> {
  const name = segmentName(range);
  const segment = await segmentAt(place, name);
  if (segment === null) throw new ArchiveDamagedError(place, `${name} is missing`);
  if (last !== null && last.chain.length > 0 && !sameChain(segment.before, last.chain)) {
    throw new ArchiveDamagedError(
      place,
      `${name} is of another log: it doesn't follow the chain value of entry ${last.id}`,
    );
  }
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
export async function openPart(place: Place, name: string): Promise<OpenPart | null> {
  const segment = await segmentAt(place, name);
  return segment === null ? null : { name, ...segment };
}

/**
 * The open part that leads furthest from the end of the sealed segments. Parts that end before are of earlier writers.
 * @returns null where none leads further
 * @throws ArchiveDamagedError where one is damaged, doesn't follow the sealed segments, or contradicts another
 */
export async function newestOpenPart(place: Place, names: readonly string[], last: Head): Promise<OpenPart | null> {
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

/** What an archive lists, and where it ends. */
export interface ArchiveEnd extends LinkedSegments, Contents {
  /** The open part that leads on from the sealed segments that follow each other; null where none does. */
  part: OpenPart | null;
}

/** The end of an archive, by the names of its segments, of which none is read. @throws as {@link newestOpenPart} */
export async function endOf(place: Place): Promise<ArchiveEnd> {
  const contents = await contentsOf(place);
  const linked = linkedFrom(contents, contents.trimmed.id + 1);
  const part = linked.fault === null ? await newestOpenPart(place, contents.open, linked.last) : null;
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

/** Reads every object of an archive, and verifies it. @throws OperatorError where the place can't be read */
export async function* verifiedArchive(place: Place): AsyncGenerator<Verified> {
  const { segments: listed, open, trimmed } = await contentsOf(place);
  const segments = listed.filter(({ last }) => last > trimmed.id);
  const steps = segments.map((range, at) => {
    const before = segments[at - 1];
    const last = before === undefined ? trimmed : { id: before.last, chain: before.chain };
    return { range, last, gap: faultBefore(range, last) };
  });
  const read = mapAhead(steps, async ({ range, last, gap }) => ({
    ...{ name: segmentName(range), first: range.first, last: range.last, gap },
    fault: await sealedSegment(place, range, gap === null ? last : null).then(() => null, faultIn),
  }));
  for await (const { gap, ...found } of read) {
    if (gap !== null) yield { ...found, fault: gap };
    yield found;
  }
  const end = segments.at(-1);
  const last = end === undefined ? trimmed : { id: end.last, chain: end.chain };
  try {
    const part = await newestOpenPart(place, open, last);
    if (part !== null) yield { name: part.name, first: part.first, last: part.last, fault: null };
  } catch (error) {
    yield { name: '', first: 0, last: 0, fault: faultIn(error) };
  }
}
