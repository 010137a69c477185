/**
 * The files of a server, whose calls can fail, and what is left of them when the process or the power goes: of the
 * index's write-ahead log what was synced for certain, and of what follows it as many frames as chance will have it.
 */
import { closeSync, copyFileSync, existsSync, openSync, readdirSync, readSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { indexPath } from '../../src/store/files/database.ts';
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

const logOf = (directory: string): string => `${indexPath(directory)}-wal`;

export class Disk {
  readonly #world: World;
  readonly #directory: DataDirectory;
  readonly #store = faultStore();
  #seen: Frames = NO_FRAMES;
  #synced: Frames;
  #full = false;
  #toFail: { calls: number; fault: Fault }[] = [];
  #commitFault: Fault | null = null;
  #toStop: { calls: number; stop: () => void } | null = null;

  constructor(world: World, directory = dataDirectory(), synced = NO_FRAMES) {
    this.#world = world;
    this.#directory = directory;
    this.#synced = synced;
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
      this.#synced = this.#written(path);
    },
    soon: async (path) => {
      const written = this.#written(path);
      await this.#world.pause(this.#world.chance.number() * SYNC_MS);
      this.#requireHealth();
      if (this.#synced.salt !== written.salt || this.#synced.count < written.count) this.#synced = written;
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
    const { salt, count, frameBytes } = framesOf(logOf(this.path), this.#seen);
    const synced = this.#synced.salt === salt ? this.#synced.count : 0;
    const left = synced + Math.round((count - synced) * kept);
    if (left < count) truncateSync(logOf(copy.path), HEADER_BYTES + left * frameBytes);
    return new Disk(this.#world, copy, { salt, count: kept === 1 ? synced : left });
  }

  remove(): void {
    this.#directory[Symbol.dispose]();
  }

  #written(path: string): Frames {
    this.#seen = framesOf(path, this.#seen);
    return this.#seen;
  }

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
