/**
 * The files of a server, whose calls can fail, and what is left of them when the process or the power goes: of each
 * write-ahead log what was synced for certain, and of what follows it as many frames as chance will have it.
 */
import { closeSync, copyFileSync, existsSync, openSync, readdirSync, readSync, truncateSync } from 'node:fs';
import { basename, join } from 'node:path';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import type { FileSync } from '../../src/store/ingest/durability.ts';
import { type Call, errorOf, type Fault, faultStore } from '../faults/fault-store.ts';
import { type DataDirectory, dataDirectory } from '../support/data-directory.ts';
import type { World } from './world.ts';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Milliseconds that a sync takes at most. */
const SYNC_MS = 30;

/** Frames of a write-ahead log; those of another salt are left over from before it began anew. */
interface Frames {
  salt: string;
  count: number;
}
const NO_FRAMES: Frames = { salt: '', count: 0 };

interface Log extends Frames {
  frameBytes: number;
}

/** @param known frames that are known to be there, which are not read again */
function framesOf(path: string, known: Frames): Log {
  if (!existsSync(path)) return { ...NO_FRAMES, frameBytes: 0 };
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, bytes, 0, HEADER_BYTES, 0) < HEADER_BYTES) return { ...NO_FRAMES, frameBytes: 0 };
    const salt = bytes.toString('hex', 16, 24);
    const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32BE(8);
    let count = salt === known.salt ? known.count : 0;
    for (;;) {
      const read = readSync(file, bytes, 0, FRAME_HEADER_BYTES, HEADER_BYTES + count * frameBytes);
      if (read < FRAME_HEADER_BYTES || bytes.toString('hex', 8, 16) !== salt) return { salt, count, frameBytes };
      count += 1;
    }
  } finally {
    closeSync(file);
  }
}

/** A write-ahead log. */
const logOf = (file: string): string => `${file}-wal`;

/** What is known of the logs of both files, by the log's name. */
type KnownLogs = ReadonlyMap<string, Frames>;

export class Disk {
  readonly #world: World;
  readonly #directory: DataDirectory;
  readonly #store = faultStore();
  /** Frames that are known to be there, which are not read again. */
  readonly #seen = new Map<string, Frames>();
  readonly #synced: Map<string, Frames>;
  #full = false;
  #toFail: { calls: number; fault: Fault }[] = [];
  #commitFault: Fault | null = null;
  #toStop: { calls: number; stop: () => void } | null = null;

  constructor(world: World, directory = dataDirectory(), synced: KnownLogs = new Map()) {
    this.#world = world;
    this.#directory = directory;
    this.#synced = new Map(synced);
    this.#store.follow((call) => this.#fate(call));
  }

  get path(): string {
    return this.#directory.path;
  }
  get connect() {
    return this.#store.connect;
  }

  readonly sync: FileSync = {
    now: (path) => {
      this.#requireHealth();
      this.#synced.set(basename(path), this.#written(path));
    },
    soon: async (path) => {
      const written = this.#written(path);
      await this.#world.pause(this.#world.chance.number() * SYNC_MS);
      this.#requireHealth();
      const synced = this.#syncedOf(path);
      if (synced.salt !== written.salt || synced.count < written.count) this.#synced.set(basename(path), written);
    },
  };

  /** From now on no transaction begins and none is committed, until there is room. */
  fill(full: boolean): void {
    this.#full = full;
  }

  /** After so many calls of SQLite one fails. */
  failAfter(calls: number, fault: Fault): void {
    this.#toFail.push({ calls, fault });
  }

  /** The next commit of the index fails. */
  failCommit(fault: Fault): void {
    this.#commitFault = fault;
  }

  /** After so many calls of SQLite, or before that, something happens between two of them. */
  stopAfter(calls: number, stop: () => void): void {
    this.#toStop = { calls, stop };
  }

  /** From now on nothing fails. */
  calm(): void {
    this.recover();
    this.#toStop = null;
  }

  recover(): void {
    this.#full = false;
    this.#toFail = [];
    this.#commitFault = null;
  }

  /**
   * The files as another process finds them.
   * @param kept of what was not synced, from 0 for nothing to 1 for all of it, as after the end of the process alone
   */
  image(kept: number): Disk {
    const copy = dataDirectory();
    for (const name of readdirSync(this.path)) {
      if (name.endsWith('-shm') || name === 'writer.lock') continue;
      copyFileSync(join(this.path, name), join(copy.path, name));
    }
    const known = [indexPath, journalPath].map((pathOf): [string, Frames] => {
      const log = logOf(pathOf(this.path));
      return [basename(log), this.#cut(log, logOf(pathOf(copy.path)), kept)];
    });
    return new Disk(this.#world, copy, new Map(known));
  }

  remove(): void {
    this.#directory[Symbol.dispose]();
  }

  /** Takes from the copy of a log what the disk has not kept. @returns what is synced of it from then on */
  #cut(log: string, copy: string, kept: number): Frames {
    const { salt, count, frameBytes } = framesOf(log, this.#seen.get(basename(log)) ?? NO_FRAMES);
    const isSynced = this.#store.syncedAtCommit.has(log.slice(0, -'-wal'.length));
    const known = this.#syncedOf(log);
    const synced = isSynced ? count : known.salt === salt ? known.count : 0;
    const left = synced + Math.round((count - synced) * kept);
    if (left < count) truncateSync(copy, HEADER_BYTES + left * frameBytes);
    return { salt, count: kept === 1 ? synced : left };
  }

  #written(log: string): Frames {
    const written = framesOf(log, this.#seen.get(basename(log)) ?? NO_FRAMES);
    this.#seen.set(basename(log), written);
    return written;
  }

  #syncedOf = (log: string): Frames => this.#synced.get(basename(log)) ?? NO_FRAMES;

  #requireHealth(): void {
    if (this.#full) throw errorOf('io');
  }

  #fate({ sql, path }: Call): Fault | null {
    if (this.#toStop !== null && this.#toStop.calls-- <= 0) {
      const { stop } = this.#toStop;
      this.#toStop = null;
      stop();
    }
    if (this.#full && (sql === 'COMMIT' || sql === 'BEGIN IMMEDIATE')) return { code: 'full', effect: 'rolled_back' };
    let fault: Fault | null = null;
    if (sql === 'COMMIT' && path === indexPath(this.path)) {
      fault = this.#commitFault;
      this.#commitFault = null;
    }
    for (const one of this.#toFail) if (one.calls-- === 0) fault = one.fault;
    this.#toFail = this.#toFail.filter(({ calls }) => calls >= 0);
    return fault;
  }
}
