/** `stackside import --from`: the events of the journal of another server, or of a data directory. */
import { systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { isAskedPath, mayBeEventPath, SKIPPED_PATH } from '../../chain/payload-reader.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import { lastWithheldIn } from '../../store/files/journal.ts';
import type { OlderEntries } from '../../store/files/older-entries.ts';
import { COMMAND_PATH, isPrivateCommand } from '../../store/ingest/commands.ts';
import { type Ingest, openIngest } from '../../store/ingest/ingest.ts';
import { ForeignEntryError } from '../../store/ingest/writer.ts';
import { type Entry, type Head, nextChain, sameChain, withheld } from '../../store/log/entry.ts';
import { interruptible } from '../cli/output.ts';
import { makeSecondaryIndexes, type Progress, progressReport } from '../cli/progress.ts';
import { withArchive } from './archived-entries.ts';
import {
  damaged,
  directoryJournal,
  type JournalBatch,
  type JournalSource,
  lacking,
  lastCommon,
  peerJournal,
} from './journal-sources.ts';
import { isUrl, peerAt, peerUrl, requireAnother } from './peer.ts';

/** @param older what the journal of a directory lacks @throws OperatorError */
function sourceAt(
  from: string,
  { data, peerKey, eventBodyLimit }: SettingsOf<'import'>,
  older: OlderEntries | null,
): JournalSource {
  if (isUrl(from)) return peerJournal(peerAt(peerUrl(from), peerKey, systemClock), eventBodyLimit);
  requireAnother('--from', from, data);
  return directoryJournal(from, older);
}

interface Beginning {
  /** The event after which entries are imported. */
  at: Head;
  /** Applies consecutive entries, and makes them durable. @throws ForeignEntryError if they don't follow */
  apply: (entries: readonly Entry[]) => Promise<void>;
}

/** Whether an entry is of the chain, and no command. */
const isOfChain = (path: string): boolean => mayBeEventPath(path) || isAskedPath(path) || path === SKIPPED_PATH;

/** @throws ForeignEntryError for an entry that doesn't follow the last one */
function requireNext(entry: Entry, last: Head): void {
  if (entry.id === last.id + 1 && sameChain(nextChain(last.chain, entry), entry.chain)) return;
  throw new ForeignEntryError(entry.id, last.id);
}

/** Imports entries like rows of a recording, without commands, which matter only to the hosts that wrote them. */
function applyLikeRecording(ingest: Ingest, at: Head): Beginning['apply'] {
  let last = at;
  return async (entries) => {
    for (const entry of entries) {
      requireNext(entry, last);
      last = entry;
      if (isOfChain(entry.path)) ingest.apply(entry);
    }
    ingest.commitToJournal();
  };
}

/**
 * Where to begin reading a journal. If it continues this data's last event, its entries get the same numbers here. If this
 * data has other events since, such as those of its own node, the entries are imported like rows of a recording, and known ones
 * change nothing.
 * @throws OperatorError if they have no event in common
 */
async function beginningOf(directory: string, ingest: Ingest, source: JournalSource): Promise<Beginning> {
  const position = ingest.position();
  const theirs = await source.chainAt(position.id);
  if (theirs === 'trimmed') throw lacking(source.location, position.id + 1);
  if (theirs !== null && sameChain(theirs, position.chain)) {
    // Commands refer to rows of earlier commands, which data of a public backup lack.
    const withholds = lastWithheldIn(directory) !== null;
    const entryToApply = (entry: Entry) =>
      withholds && entry.path === COMMAND_PATH && isPrivateCommand(entry.text) ? withheld(entry) : entry;
    // Entries keep their numbers.
    return { at: position, apply: (list) => ingest.entries.follow(list.map(entryToApply), false, systemClock.turn) };
  }
  const common = await lastCommon(directory, source, position);
  if (common.id > 0) return { at: common, apply: applyLikeRecording(ingest, common) };
  throw new OperatorError(
    `The journal of ${source.location} has no event in common with that of this data.`,
    'Import a recording (stackside export), or restore a backup of that server into an empty directory.',
  );
}

/** Maximum bytes of texts in a batch that becomes durable together. */
const MOST_BYTES = 8_000_000;

/** Entries in batches that become durable together. */
async function* lists(entries: JournalBatch['entries']): AsyncGenerator<Entry[]> {
  let list: Entry[] = [];
  let bytes = 0;
  for await (const entry of entries) {
    list.push(entry);
    bytes += entry.text.length;
    if (bytes < MOST_BYTES) continue;
    yield list;
    [list, bytes] = [[], 0];
  }
  if (list.length > 0) yield list;
}

/**
 * All entries of a journal after one, in batches that become durable together, with the number of its last event.
 * @throws OperatorError where the journal ends before its last event
 */
async function* entriesAfter(source: JournalSource, after: number): AsyncGenerator<{ list: Entry[]; last: number }> {
  for (let id = after; ; ) {
    const before = id;
    const { last, entries } = await source.after(id);
    for await (const list of lists(entries)) {
      id = list.at(-1)?.id ?? id;
      yield { list, last };
    }
    if (id === before && id < last) throw damaged(source.location, id + 1);
    if (id === before) return;
  }
}

/**
 * Imports all following entries.
 * @returns the number of the last common event, and of the last event that was read
 */
async function importAll(
  directory: string,
  ingest: Ingest,
  source: JournalSource,
  report: (progress: Progress) => void,
) {
  const { at, apply } = await beginningOf(directory, ingest, source);
  let { id } = at;
  for await (const { list, last } of entriesAfter(source, id)) {
    await apply(list);
    id = list.at(-1)?.id ?? id;
    report({ rows: id - at.id, height: ingest.tipHeight(), read: id - at.id, size: last - at.id });
  }
  return { from: at.id, last: id };
}

/**
 * Imports the events that the journal of a server or a data directory has and this data lacks. Each entry is verified by its
 * chain value.
 * @param from the URL of an API, or a data directory
 */
export const importJournal = (settings: SettingsOf<'import'>, from: string): Promise<void> =>
  withArchive(settings, (older) => importFrom(settings, sourceAt(from, settings, older)));

async function importFrom(settings: SettingsOf<'import'>, source: JournalSource): Promise<void> {
  const ingest = openIngest({
    directory: settings.data,
    chainId: settings.network,
    machine: silentMachine,
    sendMany: sendManyIn(settings),
    load: 'bulk',
    log: createLog(settings.logLevel),
  });
  const progress = progressReport(source.location, process.stderr);
  try {
    const { from, last } = await interruptible(ingest.close, () =>
      importAll(settings.data, ingest, source, progress.update),
    );
    ingest.commit();
    progress.done();
    process.stdout.write(
      `${source.location}: ${last - from} events after event ${from}; tip at height ${ingest.tipHeight()}\n`,
    );
    makeSecondaryIndexes(ingest);
  } catch (error) {
    throw error instanceof ForeignEntryError ? damaged(source.location, error.id) : error;
  } finally {
    ingest.close();
    source.close();
  }
}
