/**
 * The files of a server, whose calls can fail, and their state after the process ends or the power fails: from each
 * WAL, all synced frames survive, and a random number of the frames after them.
 */
import { closeSync, cpSync, existsSync, openSync, readdirSync, readFileSync, readSync, truncateSync } from 'node:fs';
import { basename, join } from 'node:path';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { type Call, type Fault, faultStore } from '../faults/fault-store.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import type { World } from './world.ts';

/** Committed frames of a WAL. Frames with another salt are left from before the WAL restarted. */
interface Frames {
  salt: string;
  count: number;
}
const NO_FRAMES: Frames = { salt: '', count: 0 };

/** The WAL index, which the connections share: https://sqlite.org/walformat.html#the_wal_index_file_format */
interface Log extends Frames {
  frameBytes: number;
  /** Frames that are in the database by now: SQLite synced them before. */
  inDatabase: number;
}

const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const SHARED_BYTES = 100;
const inShared = { pageSize: 14, frames: 16, salt: 32, inDatabase: 96 };

/** Offsets in the WAL file: https://sqlite.org/walformat.html#the_wal_file_format */
const inLog = { pageSize: 8, salt: 16 };
const inFrame = { pagesAfterCommit: 4, salt: 8 };
const SALT_BYTES = 8;

const logOf = (file: string): string => `${file}-wal`;
const sharedOf = (log: string): string => log.replace(/-wal$/, '-shm');

/** Returns the committed frames of a WAL from its WAL index, or null if nobody has it open. */
function framesOf(log: string): Log | null {
  const path = sharedOf(log);
  const bytes = Buffer.alloc(SHARED_BYTES);
  if (!existsSync(path) || readInto(bytes, path) < SHARED_BYTES) return null;
  return {
    salt: bytes.toString('hex', inShared.salt, inShared.salt + SALT_BYTES),
    count: bytes.readUInt32LE(inShared.frames),
    frameBytes: FRAME_HEADER_BYTES + bytes.readUInt16LE(inShared.pageSize),
    inDatabase: bytes.readUInt32LE(inShared.inDatabase),
  };
}

/** Returns the frames that can be recovered from a WAL after a crash: all up to the last commit. */
function recoverableFrames(log: string): Frames {
  if (!existsSync(log)) return NO_FRAMES;
  const bytes = readFileSync(log);
  if (bytes.length < LOG_HEADER_BYTES) return NO_FRAMES;
  const salt = bytes.subarray(inLog.salt, inLog.salt + SALT_BYTES);
  const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32BE(inLog.pageSize);
  let count = 0;
  for (let number = 1; ; number++) {
    const frame = bytes.subarray(LOG_HEADER_BYTES + (number - 1) * frameBytes, LOG_HEADER_BYTES + number * frameBytes);
    if (frame.length < frameBytes || !salt.equals(frame.subarray(inFrame.salt, inFrame.salt + SALT_BYTES))) break;
    if (frame.readUInt32BE(inFrame.pagesAfterCommit) > 0) count = number;
  }
  return { salt: salt.toString('hex'), count };
}

function readInto(bytes: Buffer, path: string): number {
  const file = openSync(path, 'r');
  try {
    return readSync(file, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(file);
  }
}

/** Known frames of both files' WALs, by the WAL's name. */
type KnownLogs = ReadonlyMap<string, Frames>;

export class Disk {
  readonly #world: World;
  readonly #directory: DataDirectory;
  readonly #store = faultStore();
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

  /** From now on no transaction begins and none is committed, until there is room. */
  fill(full: boolean): void {
    this.#full = full;
  }

  get isFull(): boolean {
    return this.#full;
  }

  /** Makes one SQLite call fail, after a number of calls that succeed. */
  failAfter(calls: number, fault: Fault): void {
    this.#toFail.push({ calls, fault });
  }

  /** The next commit of the index fails. */
  failCommit(fault: Fault): void {
    this.#commitFault = fault;
  }

  /** Calls a function between two SQLite calls, after a number of them or earlier. */
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
   * Returns the files as another process finds them.
   * @param share part of the unsynced data that survives, from 0 to 1; 1 if only the process ends
   */
  image(share: number): Disk {
    const copy = dataDirectory();
    for (const name of readdirSync(this.path)) {
      if (name.endsWith('-shm') || name === 'writer.lock') continue;
      cpSync(join(this.path, name), join(copy.path, name), { recursive: true });
    }
    const synced = [indexPath, journalPath].map((pathOf): [string, Frames] => {
      const log = logOf(pathOf(this.path));
      return [basename(log), this.#cut(log, logOf(pathOf(copy.path)), share)];
    });
    return new Disk(this.#world, copy, new Map(synced));
  }

  remove(): void {
    this.#directory[Symbol.dispose]();
  }

  /** Removes the frames that the disk lost from a WAL's copy. @returns the synced frames of the copy */
  #cut(log: string, copy: string, share: number): Frames {
    const syncedFrames = this.#syncedOf(log);
    const frames = framesOf(log);
    if (frames === null) return syncedFrames;
    const { salt, count, frameBytes, inDatabase } = frames;
    // The WAL restarted and is still unwritten: SQLite has copied its frames to the database, and synced both.
    if (recoverableFrames(copy).salt !== salt) return recoverableFrames(copy);
    const isSynced = this.#store.syncedAtCommit.has(log.slice(0, -'-wal'.length));
    const synced = isSynced ? count : Math.max(inDatabase, syncedFrames.salt === salt ? syncedFrames.count : 0);
    if (share === 1) return { salt, count: synced };
    const remaining = synced + Math.round((count - synced) * share);
    if (remaining < count) truncateSync(copy, LOG_HEADER_BYTES + remaining * frameBytes);
    // Frames of an incomplete commit are overwritten.
    return recoverableFrames(copy);
  }

  #syncedOf = (log: string): Frames => this.#synced.get(basename(log)) ?? NO_FRAMES;

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
    for (const failure of this.#toFail) if (failure.calls-- === 0) fault = failure.fault;
    this.#toFail = this.#toFail.filter(({ calls }) => calls >= 0);
    return fault;
  }
}
