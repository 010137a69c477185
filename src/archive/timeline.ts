/**
 * Timelines of an archive. A log that was restored to an earlier entry goes on with other entries than the archive has
 * (`store/ingest/timelines.ts`). What it archives from there on has names of its own beside what is there, and an object says where
 * the timeline leaves the one before:
 *
 *     timeline-<first entry of its own>-<chain value of that entry>.json
 *     timeline-<first entry of its own>-<chain value of that entry>-segment-…, …-open-…
 *
 * The first entry of its own is the command that begins it. The object has that entry, and the chain value before it, so that its
 * name proves where the timeline leaves and when it began. Segments end where they end by the log alone, so that the first one of a
 * timeline also has the entries of the timeline before that come after the last segment that both share.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import { type Entry, type Head, nextChain } from '../store/log/entry.ts';

/** Name of the timeline that a log begins with. Its objects have no prefix. */
export const FIRST_NAME = 'first';

const NAME = '\\d{12,15}-[0-9a-f]{64}';
const PREFIX = new RegExp(`^timeline-(${NAME})-`);
const ORIGIN = new RegExp(`^timeline-(${NAME})\\.json$`);

/** How the names of all objects of all timelines but the first begin. */
export const TIMELINES = 'timeline-';

/** How the names of a timeline's objects begin. */
export const prefixOf = (timeline: string): string => (timeline === FIRST_NAME ? '' : `${TIMELINES}${timeline}-`);

/** The timeline of an object by its name. */
export const timelineOfName = (name: string): string => PREFIX.exec(name)?.[1] ?? FIRST_NAME;

/** The name of the object that says where a timeline leaves another. */
export const originName = (timeline: string): string => `${TIMELINES}${timeline}.json`;
/** The timeline that such an object is of, by its name; null for any other object. */
export const timelineOfOrigin = (name: string): string | null => ORIGIN.exec(name)?.[1] ?? null;

const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Id = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Version of the format of these objects. */
const FORMAT = 1;

const OriginObject = Type.Object({
  format: Type.Literal(FORMAT),
  /** Name of the timeline that it leaves. */
  parent: Type.String({ pattern: `^(${FIRST_NAME}|${NAME})$` }),
  /** The last entry that both have. */
  entry: Id,
  /** Its chain value. */
  chain: Hex,
  /** The first entry of its own, as the log has it. */
  begins: Type.Object({ received_at: Type.Integer(), path: Type.String(), text: Type.String() }),
  /** The first entry of its first segment. */
  first: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
});

/** Where a timeline leaves another. */
export interface Origin {
  parent: string;
  /** The last entry that both have. */
  left: Head;
  /** The first entry of its own, by its number and chain value. */
  begins: Head;
  /** Unix microseconds of that entry. */
  beganAt: number;
  /** The first entry of its first segment: what comes before is in the segments of the other. */
  first: number;
}

/** Where a timeline leaves another, with that one. */
export interface OriginOf extends Origin {
  timeline: Timeline;
}

/** A timeline of an archive. */
export interface Timeline {
  name: string;
  /** Null for the first one. */
  origin: OriginOf | null;
}

export const FIRST: Timeline = { name: FIRST_NAME, origin: null };

/** Digits of an entry's number in a name, so that names are in the order of entries. */
const DIGITS = 12;
export const digits = (id: number): string => String(id).padStart(DIGITS, '0');

/** @param begins the first entry of its own */
export const timelineName = ({ id, chain }: Head): string => `${digits(id)}-${chain.toHex()}`;

/**
 * The object that says where a timeline leaves another.
 * @param left the last entry that both have
 * @param begins the entry after it
 */
export function originBytes(parent: string, left: Head, begins: Entry, first: number): Buffer {
  const { receivedAt, path, text } = begins;
  const origin: Static<typeof OriginObject> = {
    ...{ format: FORMAT, parent, entry: left.id, chain: left.chain.toHex() },
    ...{ begins: { received_at: receivedAt, path, text }, first },
  };
  return Buffer.from(`${JSON.stringify(origin)}\n`);
}

/** An object doesn't say where a timeline leaves another. The message is the end of a sentence that begins with its name. */
export class OriginError extends Error {
  override readonly name = 'OriginError';
}

/** Reads such an object. @param timeline that its name tells @throws OriginError */
export function readOrigin(timeline: string, bytes: Uint8Array): Origin {
  const object = parsedJson(strictText(bytes) ?? '');
  const { format } = Object(object);
  if (typeof format === 'number' && format > FORMAT) {
    throw new OriginError(`has format ${format}, and this program reads format ${FORMAT}`);
  }
  if (!Value.Check(OriginObject, object)) throw new OriginError("doesn't say where the timeline leaves another");
  const { parent, entry, first, begins } = object;
  const left: Head = { id: entry, chain: Uint8Array.fromHex(object.chain) };
  const own = { id: entry + 1, receivedAt: begins.received_at, path: begins.path, text: begins.text };
  const proven: Head = { id: own.id, chain: nextChain(left.chain, own) };
  if (timelineName(proven) !== timeline) throw new OriginError('is of another timeline, or names another entry');
  if (first > own.id)
    throw new OriginError(`says that its segments begin with entry ${first}, after its own first one`);
  return { parent, left, begins: proven, beganAt: own.receivedAt, first };
}
