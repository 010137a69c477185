/**
 * Any call of SQLite or of the file system may fail in a command: the command ends with an error for the operator, leaves
 * nothing half-written and no file open, and does its work once calls succeed again. Files that it renamed into place are
 * synced by then, with their directory.
 */

import { Database } from 'bun:sqlite';
import { afterAll, expect, spyOn, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasCode, OperatorError } from '../../src/base/errors.ts';
import { operatorErrorOf } from '../../src/base/system-errors.ts';
import { runExport } from '../../src/commands/data/export.ts';
import { runImport } from '../../src/commands/data/import.ts';
import { adminKeyFile, adminKeyOf } from '../../src/hooks/access/keys.ts';
import { loadOrCreateSealing, loadSealing, secretsKeyFile } from '../../src/hooks/delivery/sealing.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { readSettings } from '../../src/settings/config.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { missingSecondaryIndexes } from '../../src/store/files/secondary-indexes.ts';
import type { OldNameRow } from '../../src/store/ingest/old-names.ts';
import { writeRecording } from '../commands/recordings.ts';
import { archive, restoredFrom } from '../support/data/archive.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { SAME_IDENTITY } from '../support/data/ingest.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { everything, wholeIndex } from '../support/data/tables.ts';
import { addOldNames } from '../support/events/old-names.ts';
import { casesOf } from '../support/property.ts';
import { until } from '../support/time/until.ts';
import { eventsBefore, template } from './event-range.ts';
import { type Call, type Fault, faults, never, type Plan } from './fault-store.ts';
import { type FileCall, type ProcessFaults, processFaults } from './process-faults.ts';

const filled = template();
afterAll(() => filled[Symbol.dispose]());

const backups = dataDirectory();
afterAll(() => backups[Symbol.dispose]());
const archived = join(backups.path, 'archive');
await archive(filled.path, directoryFiles(archived));

/** Returns the data directory in a folder, next to which commands create files. */
const inData = (folder: string): string => join(folder, 'data');
const outputIn = (folder: string): string => join(folder, 'made');

interface Command {
  name: string;
  /** Whether it makes the secondary indexes at its end. */
  makesSecondaryIndexes?: boolean;
  /** Prepares the folder; the default is the filled directory. */
  prepare?: (folder: string) => void;
  act(folder: string): unknown;
  /** Returns the result of the command. */
  result(folder: string): unknown;
}

const recording = (folder: string): string => join(folder, 'recording.tsv');

async function* oldNames(): AsyncGenerator<OldNameRow> {
  for (let number = 0; number < 5; number++) {
    yield { kind: 'name', name: `name${number}.id`, owner: 'SP1', zonefileHash: new Uint8Array(20) };
  }
}

/** All tables, and the indexes that lists lack. */
function contentsOf(folder: string) {
  using db = new Database(indexPath(inData(folder)), { readonly: true });
  return { ...everything(inData(folder)), missing: missingSecondaryIndexes(db) };
}

const commands: readonly Command[] = [
  {
    name: 'import',
    makesSecondaryIndexes: true,
    prepare(folder) {
      rmSync(inData(folder), { recursive: true });
      writeRecording(folder, eventsBefore);
    },
    async act(folder) {
      const settings = readSettings({ data: inData(folder), logLevel: 'silent' }, {});
      using _ = spyOn(process.stdout, 'write').mockImplementation(() => true);
      await runImport(settings, [recording(folder)], { skipBad: false, restart: false, random: SAME_IDENTITY });
    },
    result: contentsOf,
  },
  { name: 'rebuild', makesSecondaryIndexes: true, act: (folder) => rebuild(inData(folder)), result: contentsOf },
  {
    name: 'rebuild --beside, with the server stopped before the end',
    makesSecondaryIndexes: true,
    act: (folder) => rebuild(inData(folder), { beside: true, free: () => null }),
    result: contentsOf,
  },
  {
    name: 'backup',
    act: (folder) => backupOf(inData(folder), outputIn(folder)),
    async result(folder) {
      const directory = `${folder}-restored`;
      await restored(outputIn(folder), directory);
      const restoredFiles = everything(directory);
      rmSync(directory, { recursive: true });
      return restoredFiles;
    },
  },
  {
    name: 'archive',
    act: (folder) => archive(inData(folder), directoryFiles(outputIn(folder))),
    result: (folder) =>
      readdirSync(outputIn(folder))
        .filter((name) => !name.endsWith('.partial'))
        .sort()
        .map((name) => [name, readFileSync(join(outputIn(folder), name)).toHex()]),
  },
  {
    name: 'restore',
    makesSecondaryIndexes: true,
    prepare: (folder) => rmSync(inData(folder), { recursive: true }),
    act: (folder) => restoredFrom(directoryFiles(archived), inData(folder)),
    result: (folder) => ({
      ...contentsOf(folder),
      files: readdirSync(inData(folder))
        .filter((name) => !/-(shm|wal)$/.test(name))
        .sort(),
    }),
  },
  {
    name: 'export',
    async act(folder) {
      using _ = spyOn(process.stderr, 'write').mockImplementation(() => true);
      await runExport(inData(folder), outputIn(folder), true);
    },
    result: (folder) => readFileSync(outputIn(folder), 'utf8'),
  },
  {
    name: 'check',
    act: (folder) =>
      expect(checkDirectory(inData(folder), { deep: silentMachine }).flatMap((check) => check.problems)).toEqual([]),
    result: (folder) => wholeIndex(inData(folder)),
  },
  {
    name: 'the names from before the chain',
    act: (folder) => addOldNames(inData(folder), oldNames),
    result: (folder) => wholeIndex(inData(folder)).old_names,
  },
  {
    name: "the operator's key",
    act: (folder) => adminKeyOf(inData(folder)),
    result: (folder) => readFileSync(adminKeyFile(inData(folder)), 'utf8').length,
  },
  {
    name: 'the key of signing secrets',
    act(folder) {
      const place = { data: inData(folder), clusterKey: null };
      const sealed = loadOrCreateSealing(place).seal('me', new Uint8Array(32));
      // The stored key opens a secret that was sealed with the new key.
      expect(loadSealing(place)?.open('me', sealed)).toEqual(Buffer.alloc(32));
    },
    result: (folder) => readFileSync(secretsKeyFile(inData(folder)), 'utf8').length,
  },
];

/** Files below a folder that this process has open. */
const openBelow = (folder: string): string[] =>
  !existsSync('/proc/self/fd')
    ? []
    : readdirSync('/proc/self/fd').flatMap((descriptor) => {
        try {
          const target = readlinkSync(join('/proc/self/fd', descriptor));
          return target.startsWith(folder) ? [target] : [];
        } catch (error) {
          // The descriptor of the listing itself.
          if (hasCode(error, 'ENOENT')) return [];
          throw error;
        }
      });

/** Returns the names of unfinished files. */
const unfinishedFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.partial|rebuild(?!\.lock)|^data.check/.test(name),
  );

async function prepareFolder({ prepare }: Command): Promise<DataDirectory> {
  const folder = dataDirectory();
  cpSync(filled.path, inData(folder.path), { recursive: true });
  prepare?.(folder.path);
  return folder;
}

/** Runs a command while calls follow a plan. @returns its error, or null if it succeeded */
async function run(plan: Plan, command: Command, folder: string): Promise<{ error: unknown; seen: ProcessFaults }> {
  using seen = processFaults(plan);
  try {
    await command.act(folder);
    return { error: null, seen };
  } catch (error) {
    return { error, seen };
  }
}

interface Failing {
  /** Result of the command if nothing fails. */
  expected: unknown;
  fault: Fault;
  /** Whether it is this call that fails. */
  fails(call: Call): boolean;
}

/** Makes one call of a command fail, and runs the command again. @returns the failed call, as SQL or by its name */
async function failOneCall(command: Command, { expected, fault, fails }: Failing): Promise<string> {
  using folder = await prepareFolder(command);
  let failed = '';
  const plan: Plan = (call) => {
    if (!fails(call)) return null;
    failed = call.sql;
    return fault;
  };
  const { error } = await run(plan, command, folder.path);
  const attempt = { failed, fault };
  if (error !== null && operatorErrorOf(error, folder.path) === null)
    throw new Error(JSON.stringify(attempt), { cause: error });
  const databases = openBelow(folder.path).filter((name) => /\.db\b/.test(name));
  expect({ ...attempt, databases }).toEqual({ ...attempt, databases: [] });
  // A stream closes its file a little later.
  await until(() => openBelow(folder.path).length === 0, `the end of the files of ${JSON.stringify(attempt)}`);
  if (failed !== 'rmSync') expect({ ...attempt, left: unfinishedFiles(folder.path) }).toEqual({ ...attempt, left: [] });
  if (error !== null) {
    const retry = await run(never, command, folder.path);
    // The call may have taken effect but reported a failure.
    if (retry.error !== null && !(retry.error instanceof OperatorError)) throw retry.error;
  }
  expect({ ...attempt, result: await command.result(folder.path) }).toEqual({ ...attempt, result: expected });
  return failed;
}

/** Returns the files that a command left without syncing their bytes or their names to disk. */
function notOnDisk(calls: readonly FileCall[]): string[] {
  const opened = new Map<unknown, string>();
  const synced = new Set<string>();
  const renamed = new Map<string, string>();
  const removed = new Set<string>();
  const missing: string[] = [];
  for (const { name, parameters, result } of calls) {
    const path = String(parameters[0]);
    if (name === 'openSync') opened.set(result, path);
    if (name === 'fsyncSync') {
      const file = opened.get(parameters[0]) ?? '';
      synced.add(file);
      for (const to of renamed.keys()) if (dirname(to) === file) renamed.delete(to);
      for (const name of removed) if (dirname(name) === file) removed.delete(name);
    }
    if (name === 'rmSync') removed.add(path);
    if (name !== 'renameSync') continue;
    // SQLite syncs its files when it closes them.
    if (!synced.has(path) && !path.endsWith('.db')) missing.push(`the bytes of ${path}`);
    const to = String(parameters[1]);
    // It would be taken for the log of the file that comes into its place.
    if (removed.has(`${to}-wal`)) missing.push(`the end of ${to}-wal`);
    renamed.set(to, path);
  }
  return [...missing, ...[...renamed.keys()].map((to) => `the name ${to}`)];
}

/** Has each call of the file system leave the folder behind as a process would that is killed before it. */
function imagesOf(folder: string): { plan: Plan; images: DataDirectory[] } {
  const images: DataDirectory[] = [];
  const plan: Plan = ({ sql }) => {
    if (!/^(rename|rm)Sync$/.test(sql)) return null;
    const image = dataDirectory();
    cpSync(folder, image.path, { recursive: true, filter: (name) => !name.endsWith('-shm') });
    images.push(image);
    return null;
  };
  return { plan, images };
}

/** Returns some of the numbers below a limit, evenly spread. */
const spread = (samples: number, limit: number): number[] =>
  Array.from({ length: Math.min(samples, limit) }, (_, sample) =>
    Math.floor(((sample + 0.5) * limit) / Math.min(samples, limit)),
  );

test.each(commands)(
  '$name: any failing call is reported and leaves nothing, and the next attempt succeeds, also after a kill anywhere among its files',
  async (command) => {
    using undisturbed = await prepareFolder(command);
    const { plan, images } = imagesOf(undisturbed.path);
    const { error, seen } = await run(plan, command, undisturbed.path);
    expect(error).toBeNull();
    expect(notOnDisk(seen.fileCalls)).toEqual([]);
    const expected = await command.result(undisturbed.path);
    const calls = seen.calls();
    for (const number of spread(casesOf(1), calls)) {
      await failOneCall(command, {
        expected,
        fault: faults[number % faults.length]!,
        fails: (call) => call.number === number,
      });
    }
    for (const index of spread(casesOf(1), images.length)) {
      const image = images[index]!;
      const retry = await run(never, command, image.path);
      if (retry.error !== null && !(retry.error instanceof OperatorError)) throw retry.error;
      expect({ index, result: await command.result(image.path) }).toEqual({ index, result: expected });
    }
    for (const image of images) image[Symbol.dispose]();
    if (command.makesSecondaryIndexes !== true) return;
    const fails = ({ sql }: Call) => sql.startsWith('CREATE INDEX events_ft ');
    expect(await failOneCall(command, { expected, fault: faults[0]!, fails })).toContain('events_ft');
  },
);

test("check leaves no file behind if it can't get a lock", async () => {
  const command = commands.find(({ name }) => name === 'check')!;
  using undisturbed = await prepareFolder(command);
  const { seen } = await run(never, command, undisturbed.path);
  const expected = await command.result(undisturbed.path);
  expect(seen.calls()).toBeGreaterThan(0);
  const kept = faults.filter(({ effect }) => effect === 'kept');
  const patterns = [/^openSync$/, /^PRAGMA journal_mode = MEMORY$/, /^BEGIN EXCLUSIVE$/];
  for (const [index, pattern] of patterns.entries()) {
    const fault = kept[index % kept.length]!;
    let failed = false;
    const fails = ({ sql, path }: Call) => {
      if (failed || !pattern.test(sql) || !path.endsWith('writer.lock')) return false;
      failed = true;
      return true;
    };
    await failOneCall(command, { expected, fault, fails });
    expect({ fault, pattern, failed }).toEqual({ fault, pattern, failed: true });
  }
});
