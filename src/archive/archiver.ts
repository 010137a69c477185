/**
 * Writes a log to an archive, from the journal of this host. A round seals the complete segments and writes the entries after
 * them as an open part. It starts at the end of the archive's own list, so an interrupted archive continues. It writes nothing
 * if the archive belongs to another log.
 */

import { type Clock, pause } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { chainWords } from '../chain/network.ts';
import { compressPart, hashOfPart, type ObjectStore } from '../storage/object-store.ts';
import type { JournalReads } from '../store/files/journal.ts';
import { publicEntry } from '../store/ingest/commands.ts';
import { type BatchLimits, type Entry, firstEntries, type Head, sameChain } from '../store/log/entry.ts';
import {
  ArchiveDamagedError,
  type Contents,
  type Identity,
  identityBytes,
  listContents,
  readIdentity,
  readOpenPart,
  requireIdentity,
  toIdentity,
} from './archive.ts';
import { IDENTITY } from './archive-directory.ts';
import { listBases, parseManifest } from './base.ts';
import { type ArchiveHead, ArchiveUntrustedError, HEAD, headBytes, readHead } from './head.ts';
import {
  decompressSegment,
  FORMAT,
  headOf,
  isComplete,
  MAX_SEGMENT_BYTES,
  openName,
  SEGMENT,
  SegmentError,
  type SegmentRange,
  segmentContent,
  segmentName,
  segmentPrefix,
} from './segment.ts';
import type { Signer } from './signing.ts';

/**
 * Milliseconds between two sealed segments. The first archive of a long journal then reads at most 40 MB of texts per second,
 * and leaves disk and network capacity to other work.
 */
const SEGMENT_MS = 100;

/** The host that writes, and the log that it writes. */
export interface Round {
  chainId: number;
  /** The identity of the log, in hex. */
  identity: string;
  host: string;
  /** Epoch of its lease; null if the host shares no log. */
  epoch: number | null;
  /** Entry of the newest base, as far as this host knows: a public archive names the newest. */
  base: number | null;
}

export interface ArchiverOptions {
  store: ObjectStore;
  journal: Pick<JournalReads, 'after' | 'chainAt' | 'lastId'>;
  clock: Clock;
  /** Signs a public archive, in which private commands are withheld; null for a private archive. */
  signer: Signer | null;
  /** Called with the number of the last entry that the archive has. */
  archived: (entry: number) => void;
  /** Maximum size of a segment; tests use smaller segments. */
  segment?: BatchLimits;
}

const otherLocationRemedy = (location: string, identity: string): string =>
  `Nothing was written to it. Use another location for this log, such as ${location}-${identity.slice(0, 8)}.`;

const divergedError = (location: string, identity: string, what: string): OperatorError =>
  new OperatorError(
    `The archive at ${location} doesn't match this log: ${what}.`,
    `${otherLocationRemedy(location, identity)} Or restore the archive into another directory, and serve that one.`,
  );

/**
 * Requires that an archive belongs to the log that is to be written to it.
 * @throws OperatorError if the archive has another chain or log, or if it is public and should be private, or the reverse
 */
export function requireSameLog(location: string, stored: Identity, ownIdentity: Identity): void {
  if (stored.chain_id !== ownIdentity.chain_id) {
    throw new OperatorError(
      `The archive at ${location} belongs to ${chainWords(stored.chain_id)}, but this log belongs to ${chainWords(ownIdentity.chain_id)}.`,
      otherLocationRemedy(location, ownIdentity.identity),
    );
  }
  if (stored.identity !== ownIdentity.identity) {
    throw new OperatorError(
      `The archive at ${location} belongs to the log ${stored.identity}, but this server has the log ${ownIdentity.identity}. Data restored to an earlier point is a new log.`,
      otherLocationRemedy(location, ownIdentity.identity),
    );
  }
  if (stored.public === ownIdentity.public) return;
  throw new OperatorError(
    stored.public === true
      ? `The archive at ${location} is public, and --archive-public is not given.`
      : `The archive at ${location} is private, and --archive-public is given.`,
    `Nothing was written to it: an archive stays public or private. Use --archive-public (stackside backup: --public) only for a public archive, or choose another location.`,
  );
}

/** Returns the newest sound base in the format of the head; null if there is none. @param last last entry of the head */
async function findSignableBase(store: ObjectStore, last: number): Promise<ArchiveHead['base']> {
  for (const named of await listBases(store)) {
    const { name, id } = named;
    if (id > last) continue;
    const bytes = await store.read(name, { min: 1, max: MAX_SEGMENT_BYTES });
    if (bytes === null) continue;
    try {
      await parseManifest(store, named, bytes);
      return { name, sha256: hashOfPart(bytes) };
    } catch (error) {
      if (!(error instanceof ArchiveDamagedError)) throw error;
    }
  }
  return null;
}

/** Writes a log to an archive. One round runs at a time. */
export class Archiver {
  readonly #options: ArchiverOptions;
  /** Writer for which the archive was compared with the journal; null before the comparison and after a failure. */
  #comparedWriter: string | null = null;
  /** Sealed segments that were listed, by their first entries. */
  #listed = new Map<number, SegmentRange>();
  /** Open parts, each with its last entry. */
  #open = new Map<string, number>();
  /** First and last entry of this writer's open part, as it wrote or found it; null if there is none. */
  #ownPart: { first: number; last: number } | null = null;
  /** The log that the archive belongs to; null before the first round. */
  #identity: Identity | null = null;
  /** The sealed segments that follow each other. */
  #segments: SegmentRange[] = [];
  /** The newest base in the format of the head; undefined if it must be looked up. */
  #base: ArchiveHead['base'] | undefined;
  /** The newest head that this writer signed: its last entry, and the newest base in that round. */
  #signed: (Pick<Round, 'base'> & { entry: number }) | null = null;

  constructor(options: ArchiverOptions) {
    this.#options = options;
  }

  /**
   * Archives all entries that the journal has now.
   * @param signal stops the round early, after the current write
   * @throws OperatorError if the store or the journal can't be read or written, or the archive belongs to another log
   */
  async round(round: Round, signal: AbortSignal): Promise<void> {
    const writer = `${round.identity}/${openName(round.host, round.epoch)}`;
    try {
      if (this.#comparedWriter !== writer) await this.#compare(round);
      this.#comparedWriter = writer;
      await this.#archive(round, signal);
    } catch (error) {
      this.#comparedWriter = null;
      throw error;
    }
  }

  async #archive(round: Round, signal: AbortSignal): Promise<void> {
    const { clock, archived, segment = SEGMENT } = this.#options;
    while (!signal.aborted) {
      const listed = this.#listed.get(this.#sealed.id + 1);
      if (listed !== undefined) {
        this.#recordSealed(listed);
        continue;
      }
      const entries = [...firstEntries(this.#entriesAfter(this.#sealed.id), segment)];
      if (!isComplete(entries, segment)) {
        await this.#writeOpen(openName(round.host, round.epoch), entries);
        return this.#sign(round, entries.at(-1) ?? this.#sealed);
      }
      await this.#seal(entries, round.identity);
      archived(this.#sealed.id);
      await pause(clock, SEGMENT_MS, signal);
    }
  }

  /**
   * Returns the entries after a number in the form that the archive stores. A segment's size counts this form. So a journal
   * that has commands and a journal that withholds them make the same public segments.
   */
  *#entriesAfter(id: number): Generator<Entry> {
    const { journal, signer } = this.#options;
    for (const entry of journal.after(id)) yield signer === null ? entry : publicEntry(entry);
  }

  /** Compares the archive with the journal before the first write. @throws OperatorError if they differ */
  async #compare(round: Round): Promise<void> {
    this.#segments = [];
    this.#signed = null;
    this.#base = undefined;
    const contents = await listContents(this.#options.store);
    this.#identity = await this.#requireIdentity(round, contents);
    await this.#requireOwnSignature();
    await this.#recordContents(round, contents);
  }

  /** Records the archive's objects. @throws OperatorError if the archive has other entries than the log */
  async #recordContents({ host, epoch, identity }: Round, { segments, open }: Contents): Promise<void> {
    this.#listed = new Map(segments.map((range) => [range.first, range]));
    this.#open = new Map();
    this.#ownPart = null;
    for (const range of segments) this.#requireEntry(range, segmentName(range), identity);
    // A stale list may lack the open part from this writer's previous run, which this run would replace.
    const ownName = openName(host, epoch);
    for (const name of new Set([...open, ownName])) await this.#recordOpen(name, name === ownName, identity);
  }

  /**
   * Requires that the archive belongs to the log. If there is no archive, starts one for this log.
   * @param contents listed before: another host may start the archive at the same time
   * @throws OperatorError
   */
  async #requireIdentity({ chainId, identity }: Round, { segments, open }: Contents): Promise<Identity> {
    const { store, signer } = this.#options;
    const ownIdentity = toIdentity(chainId, identity, signer !== null);
    const stored = await readIdentity(store);
    if (stored === null && segments.length + open.length > 0) {
      throw new OperatorError(
        `The archive at ${store.location} has entries, but no ${IDENTITY}, so that it may belong to another log.`,
        `Put ${IDENTITY} back from a copy of the archive. ${otherLocationRemedy(store.location, identity)}`,
      );
    }
    const isCreated = stored === null && (await store.create(IDENTITY, identityBytes(ownIdentity)));
    const existing = isCreated ? ownIdentity : (stored ?? (await requireIdentity(store)));
    requireSameLog(store.location, existing, ownIdentity);
    if (segments.length + open.length === 0) await this.#requireCreateOnly(existing);
    return existing;
  }

  /**
   * Requires that the store refuses to create {@link IDENTITY} again, since segments of an archive must never be replaced.
   * If somebody has removed the object meanwhile, the first attempt creates it and the second is refused.
   * @param identity the one that the archive has
   * @throws OperatorError if the store replaces objects, like an S3 server that ignores If-None-Match
   */
  async #requireCreateOnly(identity: Identity): Promise<void> {
    const { store } = this.#options;
    for (let attempts = 0; attempts < 2; attempts++) {
      if (!(await store.create(IDENTITY, identityBytes(identity)))) return;
    }
    const { segments, open } = await listContents(store);
    // Another host may have written entries since.
    if (segments.length + open.length === 0) await store.remove(IDENTITY);
    throw new OperatorError(
      `The server of ${store.location} ignores If-None-Match: it replaces objects that exist.`,
      'Use an S3 server that supports If-None-Match, or a directory.',
    );
  }

  /** @throws OperatorError if a public archive is signed with another key */
  async #requireOwnSignature(): Promise<void> {
    const { store, signer } = this.#options;
    if (signer === null) return;
    try {
      await readHead(store, signer.publicKey);
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

  /** The end of the sealed segments that follow each other. */
  get #sealed(): Head {
    return headOf(this.#segments.at(-1));
  }

  #recordSealed(range: SegmentRange): void {
    this.#segments.push(range);
    // If another host has made a base in the meantime, the next head names it.
    this.#base = undefined;
  }

  /** Signs the head of a public archive, if it has changed. */
  async #sign(round: Round, { id, chain }: Head): Promise<void> {
    const { store, clock, signer } = this.#options;
    const isNewBase = (this.#signed?.base ?? null) !== round.base;
    if (signer === null || this.#identity === null || ((this.#signed?.entry ?? 0) === id && !isNewBase)) return;
    if (isNewBase) this.#base = undefined;
    if (this.#base === undefined) this.#base = await findSignableBase(store, id);
    const head: ArchiveHead = {
      format: FORMAT,
      archive: this.#identity,
      written_at: new Date(clock.now()).toISOString(),
      entry: id,
      chain: chain.toHex(),
      base: this.#base,
      segments: this.#segments.map(segmentName),
      open: id === this.#sealed.id ? null : openName(round.host, round.epoch),
    };
    await store.write(HEAD, headBytes(head, signer));
    this.#signed = { entry: id, base: round.base };
  }

  /** Requires that the log has the last entry of an object. @throws OperatorError */
  #requireEntry({ last, chain }: Pick<SegmentRange, 'last' | 'chain'>, name: string, identity: string): void {
    const { store, journal } = this.#options;
    const chainValue = journal.chainAt(last);
    if (chainValue !== null && sameChain(chainValue, chain)) return;
    const what =
      chainValue === null
        ? `${name} ends with entry ${last}, and the log with entry ${journal.lastId()}`
        : `${name} has another entry ${last} than the log`;
    throw divergedError(store.location, identity, what);
  }

  /** Records an open part until a sealed segment replaces it. @throws OperatorError if it has other entries than the log */
  async #recordOpen(name: string, isOwn: boolean, identity: string): Promise<void> {
    try {
      const part = await readOpenPart(this.#options.store, name);
      if (part === null) return;
      this.#requireEntry(part, name, identity);
      this.#open.set(name, part.last);
      if (isOwn) this.#ownPart = { first: part.first, last: part.last };
    } catch (error) {
      // A damaged part has no readable entry that the journal lacks. It stays, unless it is this writer's own part.
      if (!(error instanceof ArchiveDamagedError)) throw error;
    }
  }

  async #seal(entries: readonly Entry[], identity: string): Promise<void> {
    const { store } = this.#options;
    const [{ id: first }, { id: last, chain }] = [entries[0]!, entries.at(-1)!];
    const name = segmentName({ first, last, chain });
    const other = (await store.list(segmentPrefix(first))).find((listed) => listed !== name);
    if (other !== undefined) throw divergedError(store.location, identity, `it has ${other}, and the log has ${name}`);
    const content = segmentContent(this.#sealed.chain, entries);
    if (!(await store.create(name, await compressPart(content)))) await this.#requireContent(name, content);
    this.#recordSealed({ first, last, chain });
    for (const [part, end] of this.#open) {
      if (end > last) continue;
      await store.remove(part);
      this.#open.delete(part);
    }
  }

  /** @throws OperatorError if the existing object has other content; its bytes may differ between versions of zstd */
  async #requireContent(name: string, content: Buffer): Promise<void> {
    const { store } = this.#options;
    const existing = await store.read(name, { min: 1, max: MAX_SEGMENT_BYTES });
    try {
      if (existing !== null && content.equals(await decompressSegment(existing))) return;
    } catch (error) {
      if (!(error instanceof SegmentError)) throw error;
    }
    throw new OperatorError(
      `${name} of the archive at ${store.location} exists, but its content differs from the log.`,
      'It was not replaced. Run stackside archive verify. If the object is damaged, move it away; the server then writes it again.',
    );
  }

  async #writeOpen(name: string, entries: readonly Entry[]): Promise<void> {
    const { store, archived } = this.#options;
    const last = entries.at(-1)?.id ?? this.#sealed.id;
    const first = this.#sealed.id + 1;
    const isThere = this.#ownPart?.first === first && this.#ownPart.last === last;
    if (last >= first && !isThere) {
      await store.write(name, await compressPart(segmentContent(this.#sealed.chain, entries)));
      this.#open.set(name, last);
      this.#ownPart = { first, last };
    }
    archived(last);
  }
}
