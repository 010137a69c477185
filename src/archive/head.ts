/**
 * The head of a public archive: `head.json`, the object that a reader reads first. It names the other objects, so a mirror
 * needs no list. It is signed (`signing.ts`), so readers don't have to trust the mirror. Its payload is JSON:
 *
 *     {"format":1,"archive":{…as archive.json…},"written_at":"<ISO 8601>","entry":<last entry>,"chain":"<its chain value, hex>",
 *      "base":{"name":"base-…","sha256":"<of the object, hex>"} or null,"segments":["segment-…",…],"open":"open-…" or null}
 *
 * The head is written after all objects that it names. Chain values prove the entries: each segment has a chain value in its
 * name, and the open part must contain the head's last entry with the head's chain value. A mirror may copy objects at
 * different moments. The open part may then lack the last entry or begin later. It counts as missing, and the reader gets only
 * the sealed segments.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import type { ObjectSource } from '../storage/object-store.ts';
import { ArchiveDamagedError, Identity, linkedFrom, readVerified, requireKnownFormat } from './archive.ts';
import { parseBaseName } from './base.ts';
import { FORMAT, isOpenName, parseSegmentName } from './segment.ts';
import {
  type Envelope,
  envelopeBytes,
  namedKeys,
  parseEnvelope,
  type Signer,
  unverifiedPayload,
  verifiedPayload,
} from './signing.ts';

export const HEAD = 'head.json';
/** The type of the payload. A signature is valid only for this type. */
export const HEAD_TYPE = 'application/vnd.stackside.archive-head+json';
/** Maximum bytes of the object. A head with 100,000 segments has about 16 MB. */
const MAX_HEAD = 64 * 1024 * 1024;

const ArchiveHead = Type.Object({
  format: Type.Literal(FORMAT),
  archive: Identity,
  /** Time when it was written, by the writer's clock. */
  written_at: Type.String({ maxLength: 40 }),
  entry: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  chain: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** The newest base, and the hash of its manifest's object; null if there is none. */
  base: Type.Union([
    Type.Object({ name: Type.String(), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) }),
    Type.Null(),
  ]),
  segments: Type.Array(Type.String()),
  open: Type.Union([Type.String(), Type.Null()]),
});
/** Contents of a public archive, as signed by its operator. */
export type ArchiveHead = Static<typeof ArchiveHead>;

/** Returns the bytes of `head.json`. */
export const headBytes = (head: ArchiveHead, signer: Signer): Buffer =>
  envelopeBytes(HEAD_TYPE, Buffer.from(JSON.stringify(head)), signer);

/** The key that the reader trusts doesn't prove the archive's head. */
export class ArchiveUntrustedError extends OperatorError {
  override readonly name = 'ArchiveUntrustedError';
}

const COMPARE_KEYS =
  "Nothing was read from it. Compare --archive-public-key with the key that the archive's operator publishes outside the archive.";

/** Returns the payload that the holder of a key signed. @param key null if nobody vouches for it @throws ArchiveUntrustedError */
function payloadOf(location: string, envelope: Envelope, key: string | null): Buffer {
  if (key === null) return unverifiedPayload(envelope);
  const payload = verifiedPayload(envelope, HEAD_TYPE, key);
  if (payload !== null) return payload;
  const named = namedKeys(envelope);
  const others = named.length > 0 && !named.includes(key);
  throw new ArchiveUntrustedError(
    others
      ? `${HEAD} of the archive at ${location} is signed with ${named.join(' and ')}, not with ${key}.`
      : `The signature of ${HEAD} in the archive at ${location} isn't valid for ${key}.`,
    COMPARE_KEYS,
  );
}

/** Returns a contradiction within a head, as the end of a sentence; null if there is none. */
function contradictionIn({ base, segments, open, entry, chain }: ArchiveHead): string | null {
  const ranges = segments.map(parseSegmentName);
  if (base !== null && (parseBaseName(base.name)?.id ?? Number.POSITIVE_INFINITY) > entry)
    return 'names an invalid base';
  if (ranges.includes(null)) return 'names an invalid segment';
  if (open !== null && !isOpenName(open)) return 'names an invalid open part';
  const { last, fault } = linkedFrom(
    ranges.filter((range) => range !== null),
    1,
  );
  if (fault !== null) return 'names segments that do not follow each other';
  const isEnd = last.id === entry && last.chain.toHex() === chain;
  return (open === null ? isEnd : last.id < entry) ? null : 'names a last entry that differs from its objects';
}

/** @throws ArchiveDamagedError; ArchiveUntrustedError; OperatorError for a newer format */
function parseHead(source: Pick<ObjectSource, 'location'>, bytes: Uint8Array, key: string | null): ArchiveHead {
  const envelope = parseEnvelope(bytes);
  if (envelope === null) throw new ArchiveDamagedError(source, `${HEAD} isn't a signed object`);
  const head = parsedJson(strictText(payloadOf(source.location, envelope, key)) ?? '');
  requireKnownFormat(source, head);
  if (!Value.Check(ArchiveHead, head)) throw new ArchiveDamagedError(source, `${HEAD} isn't a valid list of objects`);
  if (head.archive.public !== true) throw new ArchiveDamagedError(source, `${HEAD} names an archive that isn't public`);
  const contradiction = contradictionIn(head);
  if (contradiction !== null) throw new ArchiveDamagedError(source, `${HEAD} ${contradiction}`);
  return head;
}

/**
 * Reads the head of an archive.
 * @param key the public key that its reader trusts; null if nobody vouches for the head
 * @returns null if there is none
 * @throws ArchiveUntrustedError; ArchiveDamagedError; OperatorError if the store can't be read, or the format is newer
 */
export const readHead = (source: ObjectSource, key: string | null): Promise<ArchiveHead | null> =>
  readVerified(source, HEAD, MAX_HEAD, async (bytes) => parseHead(source, bytes, key));
