/** Makes a backup of a data directory while a server writes to it. */
import { existsSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../base/errors.ts';
import { operatorErrorOf } from '../base/system-errors.ts';
import { networkOf } from '../chain/network.ts';
import { toHex } from '../codec/hex.ts';
import { copyData, type DataState, dataStateOf, forgetPrivateData, withholdEntries } from '../store/files/backup.ts';
import { checkpointWhole } from '../store/files/connection.ts';
import { indexPath, journalPath, requireIndex } from '../store/files/database.ts';
import { lockWriter } from '../store/files/lock.ts';
import { noteMadeBackup } from '../store/files/newest-backup.ts';
import { COMMAND_PATH, isPrivateCommand } from '../store/ingest/commands.ts';
import { openIngest } from '../store/ingest/ingest.ts';
import type { ComposeMachine } from '../store/ingest/state-machine.ts';
import {
  type BackupFile,
  type BackupTarget,
  compressedPart,
  FORMAT,
  hashOfPart,
  MANIFEST,
  type Manifest,
  manifestBytes,
  PART_BYTES,
  type Part,
  partName,
} from './manifest.ts';

/** Parts that are made and written at the same time. Each needs twice its bytes in memory. */
const AT_A_TIME = 4;

/** Progress of the work, in bytes of the database files. */
interface BytesDone {
  done: number;
  all: number;
  /** Bytes that were done before this run. */
  before: number;
}
export type ReportBytes = (bytes: BytesDone) => void;

export interface BackupOptions {
  directory: string;
  target: BackupTarget;
  /** Whether the backup has only the chain: neither commands nor the tables that they change. */
  public: boolean;
  /** Makes the machine that applies the journal's commands. */
  machine: ComposeMachine;
  /** Names of files of the data directory that the backup doesn't have, but a restored server needs. */
  neededElsewhere?: readonly string[];
  /** Version of this program. */
  program: string;
  /** The clock, in Unix milliseconds. */
  now: () => number;
  report: ReportBytes;
  /** Bytes of a part; smaller in tests. */
  partBytes?: number;
}

/** Brings an index up to its journal, and finishes an interrupted load of it. */
function bringUp(copy: string, machine: ComposeMachine): void {
  const ingest = openIngest({ directory: copy, chainId: null, load: 'bulk', log: () => {}, machine });
  try {
    for (const _ of ingest.makeSecondaryIndexes());
  } finally {
    ingest.close();
  }
}

/**
 * Copies the data into the staging directory, and brings the copy's index up to its journal, so that both have the same entries.
 * @returns the position of the copy
 */
function copyTo(copy: string, { directory, machine, public: isPublic }: BackupOptions): DataState {
  rmSync(copy, { recursive: true, force: true });
  copyData(directory, copy);
  bringUp(copy, machine);
  if (isPublic) {
    withholdEntries(copy, COMMAND_PATH, isPrivateCommand);
    forgetPrivateData(copy);
  }
  for (const path of [indexPath(copy), journalPath(copy)]) checkpointWhole(path);
  return dataStateOf(copy);
}

/** Reads a range of a file. @throws Error if the file ends before it */
async function rangeOf(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, offset);
  if (bytesRead !== length) throw new Error(`the copy ends at ${offset + bytesRead}`);
  return bytes;
}

/** Writes a part, and reads it back. @throws OperatorError if other bytes come back */
async function writePart(target: BackupTarget, number: number, content: Buffer): Promise<Part> {
  const name = partName(number);
  const bytes = await compressedPart(content);
  await target.write(name, bytes);
  const back = await target.read(name, { least: bytes.length, most: bytes.length });
  if (back === null || !bytes.equals(back)) {
    throw new OperatorError(
      `${name} of ${target.location} is not what was written there.`,
      'Check the disk or the server that holds the backup, and run the backup again.',
    );
  }
  return { bytes: bytes.length, sha256: hashOfPart(content) };
}

/** Writes the parts of a file. @param before number of parts of the files before it */
async function writeFile(
  { target, partBytes = PART_BYTES }: BackupOptions,
  { path, name, before }: { path: string; name: BackupFile['name']; before: number },
  wrote: (bytes: number) => void,
): Promise<BackupFile> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const parts = new Array<Part>(Math.ceil(size / partBytes));
    await inParallel(parts.keys(), AT_A_TIME, async (index) => {
      const length = Math.min(partBytes, size - index * partBytes);
      parts[index] = await writePart(target, before + index + 1, await rangeOf(file, index * partBytes, length));
      wrote(length);
    });
    return { name, bytes: size, parts };
  } finally {
    await file.close();
  }
}

/** Writes the parts of both files of the copy. */
async function writeFiles(options: BackupOptions, copy: string): Promise<BackupFile[]> {
  const names = ['index.db', 'journal.db'] as const;
  const all = names.reduce((sum, name) => sum + Bun.file(join(copy, name)).size, 0);
  let done = 0;
  const wrote = (bytes: number) => {
    done += bytes;
    options.report({ done, all, before: 0 });
  };
  const files: BackupFile[] = [];
  for (const name of names) {
    const before = files.reduce((sum, { parts }) => sum + parts.length, 0);
    files.push(await writeFile(options, { path: join(copy, name), name, before }, wrote));
  }
  return files;
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

function manifestOf(options: BackupOptions, state: DataState, files: BackupFile[]): Manifest {
  const { program, now, neededElsewhere = [], partBytes = PART_BYTES } = options;
  const { chainId, tip, position, schema } = state;
  return {
    format: FORMAT,
    program,
    created_at: new Date(now()).toISOString(),
    generation: crypto.randomUUID(),
    chain_id: chainId,
    network: chainId === null ? null : networkOf(chainId).kind,
    height: tip?.height ?? null,
    index_block_hash: tip === null ? null : toHex(tip.indexBlockHash),
    position: position.id,
    chain: position.chain.toHex(),
    schema,
    keep_elsewhere: [...neededElsewhere],
    public: options.public,
    compression: 'zstd',
    part_bytes: partBytes,
    bytes: sumOf(files.map(({ bytes }) => bytes)),
    compressed_bytes: sumOf(files.flatMap(({ parts }) => parts.map(({ bytes }) => bytes))),
    files,
  };
}

async function writeBackup(options: BackupOptions): Promise<Manifest> {
  const { target } = options;
  await target.begin();
  const copy = join(target.staging, 'data');
  const state = copyTo(copy, options);
  const files = await writeFiles(options, copy);
  const manifest = manifestOf(options, state, files);
  await target.write(MANIFEST, manifestBytes(manifest));
  return manifest;
}

/**
 * Makes a backup. Each part is read back, so that the backup certainly exists when this resolves.
 * @throws OperatorError if the data can't be read or the backup can't be written; then there is no backup
 */
export async function makeBackup(options: BackupOptions): Promise<Manifest> {
  const { directory, target } = options;
  requireIndex(directory);
  const isBegun = existsSync(target.staging);
  let unlock: (() => void) | null = null;
  let manifest: Manifest;
  try {
    unlock = lockWriter(target.staging);
    manifest = await writeBackup(options);
    unlock();
    rmSync(target.staging, { recursive: true });
    await target.finish();
  } catch (error) {
    unlock?.();
    // The partial backup may be another process's.
    if (unlock !== null || !isBegun) await target.discard();
    throw operatorErrorOf(error, target.location) ?? error;
  }
  const { position, chain } = manifest;
  if (!options.public) noteMadeBackup(directory, { location: target.location, position, chain });
  return manifest;
}

/** Work on several items at a time. */

/**
 * Calls `work` for each item, in their order, with at most `most` calls under way. After a failure it begins no more calls.
 * @throws the error of the first call that failed, once no call is under way
 */
export async function inParallel<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const failures: unknown[] = [];
  async function worker(): Promise<void> {
    for (let next = left.next(); next.done !== true && failures.length === 0; next = left.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failures.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: most }, worker));
  if (failures.length > 0) throw failures[0];
}

/** Items that {@link mapAhead} maps before the reader takes them. */
const AHEAD = 3;

/** Maps items in their order, a few ahead of the reader. @throws the error of an item when the reader comes to it */
export async function* mapAhead<T, R>(items: readonly T[], map: (item: T) => Promise<R>): AsyncGenerator<R> {
  const begun: Promise<R>[] = [];
  for (let next = 0; next < items.length || begun.length > 0; ) {
    for (; next < items.length && begun.length <= AHEAD; next++) {
      const mapped = map(items[next]!);
      // The reader may end before it comes to this one.
      mapped.catch(() => {});
      begun.push(mapped);
    }
    yield await begun.shift()!;
  }
}
