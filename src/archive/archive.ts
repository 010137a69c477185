/**
 * An archive: the entries of one log as segments in a store, with an object that identifies the log (`archive.json`). Stackside
 * trusts no object unverified: a segment is valid only if its chain values continue the segment before it.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { mapAhead } from '../base/turns.ts';
import { networkOf } from '../chain/network.ts';
import { strictText } from '../codec/utf8.ts';
import type { ObjectSource, ObjectStoreReads } from '../storage/object-store.ts';
import { isPrivateEntry } from '../store/ingest/commands.ts';
import { lastIdentityIn } from '../store/ingest/log-identity.ts';
import { type Entry, type Head, sameChain } from '../store/log/entry.ts';
import { IDENTITY } from './archive-directory.ts';
import {
  FORMAT,
  headOf,
  isOpenName,
  MAX_SEGMENT_BYTES,
  OPEN_PARTS,
  parseSegmentName,
  readSegment,
  SEGMENTS,
  type Segment,
  SegmentError,
  type SegmentRange,
  segmentName,
} from './segment.ts';

const REMEDY =
  'Restore the object from a copy of the archive. Or delete it if it is damaged, and run stackside backup with data that has the entries: it uploads missing objects.';

/** Damage to an archive. The fault names the damaged object or the missing entries. */
export class ArchiveDamagedError extends OperatorError {
  override readonly name = 'ArchiveDamagedError';
  /** @param fault a sentence without its period; it ends the message */
  constructor(
    { location }: Pick<ObjectSource, 'location'>,
    readonly fault: string,
    options?: ErrorOptions,
  ) {
    super(`The archive at ${location} is damaged: ${fault}.`, REMEDY, options);
  }
}

/** A public archive contains private commands or their rows. Stackside never writes such an archive, so somebody else did. */
export class PrivateContentError extends OperatorError {
  override readonly name = 'PrivateContentError';
  /** The fault, as the end of a sentence that begins with the archive. */
  readonly fault: string;
  /** @param content the content, with the object or entry that has it */
  constructor({ location }: Pick<ObjectSource, 'location'>, content: string) {
    const fault = `${content}, which public archives omit`;
    super(
      `The archive at ${location} is public, but ${fault}.`,
      "Don't use this archive: it could register chainhooks on your server. Ask its operator for another copy.",
    );
    this.fault = fault;
  }
}

/**
 * Reads an object. If it is damaged, reads it a second time: a server may cut off a body as if it were complete.
 * @returns null if there is no such object
 * @throws ArchiveDamagedError as `parse` does; OperatorError if the store can't be read
 */
export async function readVerified<T>(
  store: ObjectSource,
  name: string,
  maxBytes: number,
  parse: (bytes: Uint8Array) => Promise<T>,
): Promise<T | null> {
  const read = async (): Promise<T | null> => {
    const bytes = await store.read(name, { min: 1, max: maxBytes });
    return bytes === null ? null : parse(bytes);
  };
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ArchiveDamagedError)) throw error;
    return read();
  }
}

/** @param value a parsed object of the archive @throws OperatorError if a newer program made it */
export function requireKnownFormat({ location }: Pick<ObjectSource, 'location'>, value: unknown): void {
  const { format } = Object(value);
  if (typeof format !== 'number' || format <= FORMAT) return;
  throw new OperatorError(
    `The archive at ${location} has format ${format}; this version reads formats up to ${FORMAT}.`,
    'Use the newer version of Stackside that wrote it.',
  );
}

const MAX_IDENTITY = 64 * 1024;

export const Identity = Type.Object({
  format: Type.Literal(FORMAT),
  chain_id: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  network: Type.Union([Type.Literal('mainnet'), Type.Literal('testnet')]),
  /** The identity of the log, in hex (`store/ingest/log-identity.ts`). */
  identity: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  /** Whether anyone may read the archive: private commands are withheld. A private archive lacks the field. */
  public: Type.Optional(Type.Literal(true)),
});
export type Identity = Static<typeof Identity>;

/** @param identity of the log, in hex */
export const toIdentity = (chainId: number, identity: string, isPublic: boolean): Identity => ({
  format: FORMAT,
  chain_id: chainId,
  network: networkOf(chainId).kind,
  identity,
  ...(isPublic ? { public: true } : {}),
});

export const identityBytes = (identity: Identity): Buffer => Buffer.from(`${JSON.stringify(identity)}\n`);

/**
 * Reads which log an archive belongs to.
 * @returns null if there is no archive
 * @throws OperatorError if a newer program made it, or the object is damaged
 */
export const readIdentity = (store: ObjectSource): Promise<Identity | null> =>
  readVerified(store, IDENTITY, MAX_IDENTITY, async (bytes) => {
    const identity = parsedJson(strictText(bytes) ?? '');
    requireKnownFormat(store, identity);
    if (Value.Check(Identity, identity)) return identity;
    throw new ArchiveDamagedError(store, `${IDENTITY} doesn't identify the log that the archive belongs to`);
  });

/** @throws OperatorError if there is no archive */
export async function requireIdentity(store: ObjectSource): Promise<Identity> {
  const identity = await readIdentity(store);
  if (identity !== null) return identity;
  throw new OperatorError(
    `No archive found at ${store.location}: ${IDENTITY} is missing.`,
    'Check the location. stackside backup and stackside serve --archive create archives.',
  );
}

export interface Contents {
  /** Sealed segments in the order of their first entries. */
  segments: SegmentRange[];
  open: string[];
}

/** Lists the names of all open parts and segments, but not parts of bases, which are most of the objects in an archive. */
async function listEntryObjects(store: ObjectStoreReads): Promise<string[]> {
  // Such a list has no parts of bases, and all its names are from the same moment.
  if (store.listsAtOnce === true) return store.list('');
  const names: string[] = [];
  // Open parts come first: an open part is removed once its segment exists.
  for (const prefix of [OPEN_PARTS, SEGMENTS]) names.push(...(await store.list(prefix)));
  return names;
}

/** Lists the segments and open parts. A store may list the newest objects late. @throws OperatorError */
export async function listContents(store: ObjectStoreReads): Promise<Contents> {
  const names = await listEntryObjects(store);
  const segments = names.map(parseSegmentName).filter((range) => range !== null);
  return { segments: segments.sort((a, b) => a.first - b.first || a.last - b.last), open: names.filter(isOpenName) };
}

const entriesText = (first: number, last: number): string =>
  first === last ? `entry ${first}` : `entries ${first} to ${last}`;

/** Segments that follow each other by their names, and the fault that separates them from the next segment. */
export interface LinkedSegments {
  linked: { range: SegmentRange; previous: Head }[];
  /** The head at their end. */
  last: Head;
  /** Fault of the next segment, as the end of a sentence that begins with the archive; null if there is none. */
  fault: string | null;
}

/**
 * Returns the sealed segments that follow each other by their names.
 * @param segments sorted
 * @param previous the head that the first segment follows
 */
function linkedSegments(segments: readonly SegmentRange[], previous: Head): LinkedSegments {
  const linked: LinkedSegments['linked'] = [];
  let last = previous;
  for (const range of segments) {
    const fault = faultBefore(range, last);
    if (fault !== null) return { linked, last, fault };
    linked.push({ range, previous: last });
    last = headOf(range);
  }
  return { linked, last, fault: null };
}

/** Returns the sealed segments that follow each other, from the segment that contains an entry. @param segments sorted */
export function linkedFrom(segments: readonly SegmentRange[], entry: number): LinkedSegments {
  const index = segments.findIndex(({ last }) => last >= entry);
  const segmentRanges = index < 0 ? [] : segments.slice(index);
  const [first] = segmentRanges;
  const head = headOf(index === 0 ? undefined : segments.at(index < 0 ? -1 : index - 1));
  // Entries before a segment that contains the entry may be missing.
  const isGap = first !== undefined && first.first <= entry && first.first !== head.id + 1;
  return linkedSegments(segmentRanges, isGap ? { id: first.first - 1, chain: new Uint8Array() } : head);
}

/** Returns the gap or overlap between a head and the next segment by its name; null if there is none. */
function faultBefore(next: SegmentRange, last: Head): string | null {
  if (next.first === last.id + 1) return null;
  const name = segmentName(next);
  return next.first > last.id + 1
    ? `it lacks ${entriesText(last.id + 1, next.first - 1)}, which come before ${name}`
    : `${name} begins with entry ${next.first}, and another segment has the entries up to ${last.id}`;
}

/** @throws ArchiveDamagedError if an object doesn't continue the entries up to a head */
function requireContinuation(store: ObjectSource, name: string, { previousChain }: Segment, { id, chain }: Head): void {
  if (sameChain(previousChain, chain)) return;
  throw new ArchiveDamagedError(
    store,
    `${name} belongs to another log: it doesn't follow the chain value of entry ${id}`,
  );
}

/** @throws ArchiveDamagedError naming the object */
async function verifiedSegment(store: ObjectSource, name: string, bytes: Uint8Array): Promise<Segment> {
  try {
    return await readSegment(bytes, parseSegmentName(name));
  } catch (cause) {
    if (!(cause instanceof SegmentError)) throw cause;
    throw new ArchiveDamagedError(store, `${name} is a damaged segment: ${cause.message}`, { cause });
  }
}

const readSegmentAt = (store: ObjectSource, name: string): Promise<Segment | null> =>
  readVerified(store, name, MAX_SEGMENT_BYTES, (bytes) => verifiedSegment(store, name, bytes));

/**
 * Reads and verifies a sealed segment.
 * @param last the head that it follows by its name; null, or without a chain value, if the entries before it are missing
 * @throws ArchiveDamagedError; OperatorError if the store can't be read
 */
export async function readSealedSegment(store: ObjectSource, range: SegmentRange, last: Head | null): Promise<Segment> {
  const name = segmentName(range);
  const segment = await readSegmentAt(store, name);
  if (segment === null) throw new ArchiveDamagedError(store, `${name} is missing`);
  if (last !== null && last.chain.length > 0) requireContinuation(store, name, segment, last);
  return segment;
}

export interface OpenPart extends Segment {
  name: string;
}

/**
 * Reads the open part with a name.
 * @returns null if it is gone: a sealed segment has replaced it
 * @throws ArchiveDamagedError; OperatorError if the store can't be read
 */
export async function readOpenPart(store: ObjectSource, name: string): Promise<OpenPart | null> {
  const segment = await readSegmentAt(store, name);
  return segment === null ? null : { name, ...segment };
}

/**
 * Returns the open part that continues the sealed segments furthest. Earlier writers left the others.
 * @returns null if no open part continues the sealed segments
 * @throws ArchiveDamagedError if a part is damaged, doesn't follow the sealed segments, or contradicts another part
 */
export async function readNewestOpenPart(
  store: ObjectSource,
  names: readonly string[],
  last: Head,
): Promise<OpenPart | null> {
  const parts: OpenPart[] = [];
  for (const name of names) {
    const part = await readOpenPart(store, name);
    if (part === null || part.last <= last.id) continue;
    if (part.first !== last.id + 1) {
      const begins = `${name} begins with entry ${part.first}, and the sealed segments end with entry ${last.id}`;
      throw new ArchiveDamagedError(store, begins);
    }
    requireContinuation(store, name, part, last);
    parts.push(part);
  }
  const [newest, ...others] = parts.sort((a, b) => b.last - a.last);
  if (newest === undefined) return null;
  const foreign = others.find(({ last: end, chain }) => !sameChain(newest.entries[end - newest.first]!.chain, chain));
  if (foreign === undefined) return newest;
  throw new ArchiveDamagedError(
    store,
    `${foreign.name} and ${newest.name} belong to two logs: they differ at entry ${foreign.last}`,
  );
}

/**
 * Reads the entries after a given entry, in batches.
 * @param after number of the entry, and its chain value if the archive must have this entry
 * @throws ArchiveDamagedError if the archive has another entry with this number; at a gap, after the entries before it
 */
export async function* entriesAfter(
  store: ObjectStoreReads,
  { id, chain }: Pick<Head, 'id'> & Partial<Head>,
): AsyncGenerator<Entry[]> {
  const { open, segments } = await listContents(store);
  const { linked, last, fault } = linkedFrom(segments, id + 1);

  function entriesOf({ first, previousChain, entries }: Segment): Entry[] {
    const actualChain = first === id + 1 ? previousChain : entries.find((entry) => entry.id === id)?.chain;
    if (chain !== undefined && actualChain !== undefined && !sameChain(actualChain, chain)) {
      throw new ArchiveDamagedError(store, `it has another entry ${id} than at the start of this restore`);
    }
    return first > id ? entries : entries.filter((entry) => entry.id > id);
  }

  for await (const segment of mapAhead(linked, ({ range, previous }) => readSealedSegment(store, range, previous))) {
    yield entriesOf(segment);
  }
  if (fault !== null) throw new ArchiveDamagedError(store, fault);
  const part = await readNewestOpenPart(store, open, last);
  const entries = part === null ? [] : entriesOf(part);
  if (entries.length > 0) yield entries;
}

/** @throws PrivateContentError if entries of a public archive have a private or invalid command in clear text */
function requirePublicEntries(store: ObjectStoreReads, entries: readonly Entry[]): void {
  const entry = entries.find(isPrivateEntry);
  if (entry !== undefined) throw new PrivateContentError(store, `entry ${entry.id} is a private or invalid command`);
}

/**
 * Reads the entries that a restore applies, as {@link entriesAfter} does.
 * @throws PrivateContentError if the archive is public and has a private or invalid command in clear text
 */
export async function* restorableEntries(
  store: ObjectStoreReads,
  after: Pick<Head, 'id'> & Partial<Head>,
  isPublic: boolean,
): AsyncGenerator<Entry[]> {
  for await (const entries of entriesAfter(store, after)) {
    if (isPublic) requirePublicEntries(store, entries);
    yield entries;
  }
}

/** Returns the chain value of an entry; null if the archive lacks the entry. @throws ArchiveDamagedError */
async function findChainValue(store: ObjectStoreReads, entry: number): Promise<Uint8Array | null> {
  const { open, segments } = await listContents(store);
  const { linked, last } = linkedFrom(segments, entry);
  const firstLink = linked[0];
  const segment =
    firstLink === undefined
      ? await readNewestOpenPart(store, open, last)
      : await readSealedSegment(store, firstLink.range, firstLink.previous);
  return segment?.entries.find(({ id }) => id === entry)?.chain ?? null;
}

/** Returns whether an archive has an entry: this one, another one in its place, or none yet. @throws ArchiveDamagedError */
export async function compareEntry(store: ObjectStoreReads, { id, chain }: Head): Promise<'this' | 'other' | 'none'> {
  const chainValue = await findChainValue(store, id);
  if (chainValue === null) return 'none';
  return sameChain(chainValue, chain) ? 'this' : 'other';
}

export interface ArchiveEnd extends LinkedSegments, Contents {
  /** The open part that continues the sealed segments; null if none does. */
  part: OpenPart | null;
}

/** Finds the end of an archive by the names of its segments, without reading them; only open parts are read. */
export async function findEnd(store: ObjectStoreReads): Promise<ArchiveEnd> {
  const contents = await listContents(store);
  const linked = linkedFrom(contents.segments, 1);
  if (linked.fault !== null) return { ...contents, ...linked, part: null };
  const part = await readNewestOpenPart(store, contents.open, linked.last).catch(faultIn);
  return typeof part === 'string'
    ? { ...contents, ...linked, fault: part, part: null }
    : { ...contents, ...linked, part };
}

/** Result of verifying an object, or of finding a gap before it. */
export interface VerifiedObject {
  name: string;
  first: number;
  last: number;
  /** Fault, as the end of a sentence that begins with the archive; null if there is none. */
  fault: string | null;
}

/** Returns the fault that a read error describes. @throws any other error */
export function faultIn(error: unknown): string {
  if (error instanceof ArchiveDamagedError || error instanceof PrivateContentError) return error.fault;
  throw error;
}

/** Reads and verifies every segment and open part of an archive. @throws OperatorError if the store can't be read */
export async function* verifySegments(store: ObjectStoreReads): AsyncGenerator<VerifiedObject> {
  const isPublic = (await readIdentity(store))?.public === true;
  const requireEntries = <Part extends { entries: readonly Entry[] }>(part: Part): Part => {
    if (isPublic) requirePublicEntries(store, part.entries);
    return part;
  };
  const { segments, open } = await listContents(store);
  const steps = segments.map((range, index) => {
    const last = headOf(segments[index - 1]);
    return { range, last, gap: faultBefore(range, last) };
  });
  const results = mapAhead(steps, async ({ range, last, gap }) => ({
    name: segmentName(range),
    first: range.first,
    last: range.last,
    gap,
    segment: await readSealedSegment(store, range, gap === null ? last : null)
      .then(requireEntries)
      .catch(faultIn),
  }));
  /** The identity that the entries give the log; null if they give none. */
  let identity: string | null = null;
  let isSound = true;
  for await (const { gap, segment, ...segmentFacts } of results) {
    const fault = typeof segment === 'string' ? segment : null;
    if (gap !== null) yield { ...segmentFacts, fault: gap };
    yield { ...segmentFacts, fault };
    isSound &&= gap === null && fault === null;
    if (typeof segment !== 'string') identity = lastIdentityIn(segment.entries) ?? identity;
  }
  const last = headOf(segments.at(-1));
  try {
    const part = await readNewestOpenPart(store, open, last);
    if (part !== null) {
      requireEntries(part);
      yield { name: part.name, first: part.first, last: part.last, fault: null };
      identity = lastIdentityIn(part.entries) ?? identity;
    }
  } catch (error) {
    isSound = false;
    yield { name: '', first: 0, last: 0, fault: faultIn(error) };
  }
  const stored = await readIdentity(store);
  if (!isSound || identity === null || stored?.identity === identity) return;
  yield { name: IDENTITY, first: 1, last: last.id, fault: identityFault(stored?.identity ?? 'none', identity) };
}

/**
 * Returns the fault of an archive that names another identity than its entries have. Data restored to an earlier point gets its
 * identity from its last entry, so an archive of it has this fault until that entry is uploaded.
 */
export const identityFault = (stored: string, actual: string): string =>
  `${IDENTITY} names the log ${stored}, but the entries belong to the log ${actual}: an upload of restored data hasn't finished, or ${IDENTITY} comes from another archive`;
