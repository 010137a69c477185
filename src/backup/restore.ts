/**
 * Restores a backup into an empty data directory. Parts that an interrupted restore brought are verified and used, so that
 * the next restore continues there.
 */
import { statfsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../base/errors.ts';
import { onFile, operatorErrorOf } from '../base/system-errors.ts';
import { chainIdText } from '../chain/network.ts';
import { dataStateOf } from '../store/files/backup.ts';
import { lockUnfinished } from '../store/files/lock.ts';
import { noteBackup } from '../store/files/newest-backup.ts';
import { makePrivateFile } from '../store/files/private-files.ts';
import { beginMaking, installStagedFiles, isInstalled } from '../store/files/staged-files.ts';
import { stagingOf } from '../store/files/unfinished.ts';
import { inParallel, type ReportBytes } from './backup.ts';
import {
  type BackupFile,
  type BackupSource,
  contentOfPart,
  hashOfPart,
  LONGEST_MANIFEST,
  type LocatedPart,
  MANIFEST,
  type Manifest,
  manifestBytes,
  PartDamagedError,
  partName,
  partsOf,
  readManifest,
  requireReadable,
} from './manifest.ts';

/** Parts that are fetched at the same time. Each needs twice its bytes in memory. */
const AT_A_TIME = 4;

export interface RestoreOptions {
  directory: string;
  source: BackupSource;
  /** The chain that the backup must have; null for any. */
  chainId: number | null;
  report: ReportBytes;
}

export interface Restored {
  manifest: Manifest;
  /** Bytes that an earlier, interrupted restore had brought. */
  found: number;
}

const CHOOSE_ANOTHER = 'Copy the backup once more from where it was made, or take another.';

async function manifestAt({ source, chainId }: RestoreOptions): Promise<Manifest> {
  const bytes = await source.read(MANIFEST, { least: 0, most: LONGEST_MANIFEST });
  const { location } = source;
  if (bytes === null) {
    throw new OperatorError(
      `There is no backup at ${location}: it has no ${MANIFEST}.`,
      'Check the location; a backup writes the manifest last, so that one which was broken off has none.',
    );
  }
  const manifest = readManifest(location, bytes);
  requireReadable(location, manifest);
  if (chainId !== null && manifest.chain_id !== null && manifest.chain_id !== chainId) {
    throw new OperatorError(
      `The backup at ${location} is of chain ${chainIdText(manifest.chain_id)}, but the setting names ${chainIdText(chainId)}.`,
      'Take a backup of the chain that you want, or correct --network or --chain-id.',
    );
  }
  return manifest;
}

/** @throws OperatorError if the disk has no room for the rest of the files */
function requireRoom(directory: string, { bytes }: Manifest, found: number): void {
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize >= bytes - found) return;
  throw new OperatorError(
    `The disk of ${directory} has ${bavail * bsize} bytes free, and the backup needs ${bytes - found} more.`,
    'Free space on the disk, or give a directory on another.',
  );
}

/** Whether a file already has the content of a part. */
async function isThere(file: FileHandle, { offset, length, sha256 }: LocatedPart): Promise<boolean> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, offset);
  return bytesRead === length && hashOfPart(bytes) === sha256;
}

async function fetchPart(source: BackupSource, part: LocatedPart): Promise<Buffer> {
  const name = partName(part.number);
  const bytes = await source.read(name, { least: part.bytes, most: part.bytes });
  if (bytes === null) {
    throw new OperatorError(`The backup at ${source.location} lacks ${name}.`, CHOOSE_ANOTHER);
  }
  try {
    return await contentOfPart(part, bytes);
  } catch (cause) {
    if (!(cause instanceof PartDamagedError)) throw cause;
    throw new OperatorError(
      `${name} of the backup at ${source.location} is damaged: ${cause.message}.`,
      CHOOSE_ANOTHER,
      {
        cause,
      },
    );
  }
}

/** The parts that a file lacks. */
async function partsLeft(file: FileHandle, parts: readonly LocatedPart[]): Promise<LocatedPart[]> {
  const left: LocatedPart[] = [];
  const { size } = await file.stat();
  for (const part of parts) {
    if (part.offset >= size || !(await isThere(file, part))) left.push(part);
  }
  return left;
}

/** Fetches the missing parts of a file. */
async function restoreFile(
  { directory, source }: RestoreOptions,
  { name, bytes }: BackupFile,
  parts: readonly LocatedPart[],
  progress: { found(bytes: number): void; brought(bytes: number): void },
): Promise<void> {
  if (isInstalled(directory, 'restore', name)) return progress.found(bytes);
  const path = join(stagingOf(directory, 'restore'), name);
  makePrivateFile(path);
  const file = await open(path, 'r+');
  try {
    const left = await partsLeft(file, parts);
    progress.found(bytes - left.reduce((sum, { length }) => sum + length, 0));
    await inParallel(left, AT_A_TIME, async (part) => {
      const content = await fetchPart(source, part);
      await file.write(content, 0, content.length, part.offset);
      progress.brought(content.length);
    });
    await file.truncate(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

const isSame = (a: string, b: Uint8Array | null): boolean => b !== null && a === b.toHex();

/**
 * Checks that the files agree with the manifest as a whole; their parts do, but the manifest may be wrong.
 * @throws OperatorError if they don't
 */
function requireAsDeclared(directory: string, source: BackupSource, manifest: Manifest): void {
  const { position, chainId, schema, journalChain } = dataStateOf(directory);
  const wrong =
    position.id !== manifest.position || !isSame(manifest.chain, position.chain)
      ? `its index is at event ${position.id}`
      : chainId !== manifest.chain_id
        ? 'its index is of another chain'
        : schema.index !== manifest.schema.index || schema.journal !== manifest.schema.journal
          ? 'its files are of other versions'
          : position.id > 0 && !isSame(manifest.chain, journalChain)
            ? 'its journal is not that of its index'
            : null;
  if (wrong === null) return;
  throw new OperatorError(`The backup at ${source.location} is not what its manifest says: ${wrong}.`, CHOOSE_ANOTHER);
}

async function restoreLocked(options: RestoreOptions): Promise<Restored> {
  const { directory, source, report } = options;
  const manifest = await manifestAt(options);
  beginMaking(directory, 'restore', manifestBytes(manifest));
  let [found, done] = [0, 0];
  const progress = {
    found(bytes: number): void {
      found += bytes;
      done += bytes;
      requireRoom(directory, manifest, done);
    },
    brought(bytes: number): void {
      done += bytes;
      report({ done, all: manifest.bytes, before: found });
    },
  };
  const parts = Map.groupBy(partsOf(manifest), ({ file }) => file);
  for (const file of manifest.files) await restoreFile(options, file, parts.get(file.name) ?? [], progress);
  const isMoved = manifest.files.some(({ name }) => isInstalled(directory, 'restore', name));
  if (!isMoved) onFile(directory, () => requireAsDeclared(stagingOf(directory, 'restore'), source, manifest));
  installStagedFiles(directory, 'restore', () => {
    const { position, chain } = manifest;
    if (!manifest.public) noteBackup(directory, { location: source.location, position, chain });
  });
  return { manifest, found };
}

/**
 * Restores a backup, or continues an interrupted restore. Until it is done, no command opens the directory for writing.
 * @throws OperatorError if the directory has data, or the backup is missing, damaged, or needs a newer program
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { directory } = options;
  const unlock = onFile(directory, () => lockUnfinished(directory));
  try {
    return await restoreLocked(options);
  } catch (error) {
    throw operatorErrorOf(error, directory) ?? error;
  } finally {
    unlock();
  }
}
