/**
 * Events into the index, each exactly once: read, applied inside an open transaction, written to the journal, committed.
 * What holds the two files together is in `transactions.ts`, what an event does in `event-router.ts`.
 */

import { statfsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { SendManySetting } from '../../chain/memo-transfers.ts';
import type { Network } from '../../chain/network.ts';
import { openToRead } from '../files/connection.ts';
import { indexPath } from '../files/database.ts';
import type { Imported } from '../files/import-progress.ts';
import { type ListIndexStep, listIndexSteps } from '../files/list-indexes.ts';
import { StoreUnavailableError } from '../files/store-failure.ts';
import { hookOrigin } from '../hooks/origin.ts';
import type { ValueIndexChoice } from '../model/value-index.ts';
import { valueIndexes } from '../queries/value-indexes.ts';
import { blockPayloads } from './block-payloads.ts';
import { chainIdentity } from './chain-identity.ts';
import { chainReader } from './chain-writer.ts';
import { knownCommands } from './commands.ts';
import { CommitCount } from './commit-count.ts';
import { type DataFilesOptions, openDataFiles } from './data-files.ts';
import { type FileSync, fileSync, indexDurability } from './durability.ts';
import { entryApplier } from './entry-applier.ts';
import { entryCommands } from './entry-commands.ts';
import type { IngestLog, Outcome, ReceivedEvent } from './event.ts';
import { type Applied, eventRouter } from './event-router.ts';
import { eventTaker } from './event-taker.ts';
import type { ChainFollower } from './follower.ts';
import { cursorOf, followerPlace } from './follower-place.ts';
import { handedOverCommands } from './hand-over.ts';
import { lastEvent } from './last-event.ts';
import { oldNameCommands } from './old-name-commands.ts';
import { otherWrites } from './other-writes.ts';
import { journalReplay } from './replay.ts';
import { requireSendMany } from './send-many.ts';
import { sharedCommits } from './shared-commits.ts';
import { type SharedEntries, sharedEntries } from './shared-entries.ts';
import type { ComposeMachine } from './state-machine.ts';
import { transactions } from './transactions.ts';
import { chooseValueIndexes, valueIndexSteps } from './value-indexes.ts';
import { publishedViews, separateViews, type Views } from './visibility.ts';
import { writerHealth } from './writer-health.ts';

export type { IngestEvent, Outcome, ReceivedEvent } from './event.ts';
export type { ChainFollower, ChainHistory } from './follower.ts';

export interface IngestOptions extends DataFilesOptions {
  /** The journal's last entry that is applied; else all are. */
  replayTo?: number;
  /** Chain id that the operator set; null for that of the first block. */
  chainId: number | null;
  /** Send-many contracts that the operator set; else those that the index was made with. */
  sendMany?: SendManySetting;
  /** What the operator asks to find by decoded values; else what the index was asked for before. */
  valueIndexes?: readonly ValueIndexChoice[];
  /** Rows of a step that makes an index of decoded values; fewer than usual are for tests. */
  valueIndexRows?: number;
  /** Puts what was written to a file on the disk. */
  sync?: FileSync;
  /** A timer, by which events that follow each other share a commit of the index; else each has its own. */
  after?: Clock['after'];
  /** Whether the events come through a log that several hosts share; then each is committed by itself. */
  shared?: boolean;
  /** Makes what applies commands among the journal's entries; without one, an entry with a command can't be applied. */
  machine?: ComposeMachine | undefined;
}

/** Opens a data directory for writing, and brings the index up to its journal. */
export function openIngest(options: IngestOptions) {
  const opened: (() => void)[] = [];
  try {
    return startIngest(options, opened);
  } catch (error) {
    // Who is told why may put it right and open the directory once more.
    for (const close of opened) close();
    throw error;
  }
}
export type Ingest = ReturnType<typeof openIngest>;

/** Bytes of room below which a disk counts as full, whatever fits into its files. */
const ROOM_BYTES = 16_000_000;

const hasRoom = (directory: string): boolean => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize >= ROOM_BYTES;
};

/** What says which blocks an event reverted and applied. */
const blockLog =
  (log: IngestLog) =>
  ({ change }: Applied): void => {
    if (change === null) return;
    for (const { height, indexBlockHash } of change.reverted) {
      log({ event: 'block_reverted', height, index_block_hash: `0x${indexBlockHash.toHex()}` });
    }
    for (const { height, transactions } of change.applied) {
      log({ event: 'block_applied', height, transactions: transactions.length });
    }
  };

type Parts = ReturnType<typeof openParts>;

/** All that writes to a data directory: the files, what an event does to them, and the transactions it is done in. */
function openParts(options: IngestOptions, opened: (() => void)[]) {
  const { directory, sendMany, log, sync = fileSync } = options;
  const files = openDataFiles(options, opened);
  const { home, db, journal } = files;
  const health = writerHealth(log);
  const identity = chainIdentity(db);
  if (sendMany !== undefined) requireSendMany(db, sendMany, identity.network()?.kind ?? null, directory);
  const durability = indexDurability(`${indexPath(home)}-wal`, sync, health);
  const origins = hookOrigin(db);
  const follower = followerPlace(origins);
  const commits = new CommitCount();
  const router = eventRouter({ db, journal, identity, changed: follower.changed, log });
  const report = blockLog(log);
  const last = lastEvent();
  const known = knownCommands();
  const commands = entryCommands({
    db,
    known,
    origins,
    tip: () => cursorOf(router.chain.tip()),
    replaced: follower.replaced,
  });
  known.add(handedOverCommands(db, follower.replaced));
  known.add(oldNameCommands(db));
  const apply = entryApplier(router, commands);
  /** What the journal brings back at the start is not told to subscribers, and nothing of an import is. */
  const subscribers = { areTold: false };

  const transaction = transactions({
    index: db,
    journal,
    participants: [router, files.places, identity, durability, commands, follower].map(
      ({ participant }) => participant,
    ),
    complete() {
      router.store();
      files.places.store();
    },
    commits,
    catchUp: journalReplay({
      files,
      apply,
      upTo: options.replayTo ?? Number.POSITIVE_INFINITY,
      last,
      isLive: () => subscribers.areTold,
      applied: report,
      log,
    }),
    health,
  });

  const isShared = options.shared ?? false;
  return {
    ...{ files, health, identity, durability, origins, follower, commits, router, report, last, transaction, isShared },
    ...{ known, commands, apply, subscribers },
  };
}

/** Composes what makes tables of the journal's entries, and brings the index up to its journal. */
function bringUp(parts: Parts, options: IngestOptions, { hooks: store, history }: Views): void {
  const { files, identity, known, follower, transaction, subscribers } = parts;
  const { machine, chainId, directory, valueIndexes, load } = options;
  if (machine !== undefined) {
    const made = machine({ store, history, network: identity.network });
    known.add(made.commands);
    follower.compose(made);
  }
  if (chainId !== null) identity.require(chainId, directory);
  transaction.settle();
  if (valueIndexes !== undefined) chooseValueIndexes(files.db, valueIndexes, transaction.write);
  subscribers.areTold = load !== 'bulk';
}

/** What others see, and what takes the entries of a shared log; null without one. */
function viewsOf(parts: Parts, publish: () => void, opened: (() => void)[]): Views & { entries: SharedEntries | null } {
  const { files, router, identity, transaction, report, isShared, apply, commands } = parts;
  const { home, db, journal } = files;
  const options = { db, chain: router.chain, network: identity.networkOrTest };
  if (!isShared) return { ...publishedViews(options, publish), entries: null };
  const reader = openToRead(indexPath(home));
  opened.unshift(() => reader.close());
  const readChain = chainReader(reader, blockPayloads(reader, journal));
  const { isWorking } = transaction;
  const { hooks, history, place } = separateViews(options, { reader, readChain, isWorking });
  const entries = sharedEntries({
    ...{ files, router, apply, commands, transaction, report },
    committedPlace: place,
  });
  return { hooks, history, entries };
}

/** The steps that make the indexes of lists, once what was taken is committed. */
function listIndexesOf({ db, home }: Parts['files'], commit: () => void): Iterable<ListIndexStep> {
  commit();
  return listIndexSteps(db, indexPath(home));
}

/** Makes what an interrupted load left out. Comes last: whatever keeps a server from its start is said before. */
function finishLoad(files: Parts['files'], commit: () => void, { load, log }: IngestOptions): void {
  if (load === 'bulk') return;
  for (const step of listIndexesOf(files, commit)) log({ event: 'list_index_begun', ...step });
}

/** @param opened gets what closes again what was opened, in the order to close it in */
function startIngest(options: IngestOptions, opened: (() => void)[]) {
  const { directory } = options;
  const parts = openParts(options, opened);
  const { files, health, identity, durability, origins, follower, router, report, last, transaction } = parts;
  const after = parts.isShared ? null : (options.after ?? null);
  const commits = sharedCommits(transaction, health, after);
  const { publish } = commits;
  const views = viewsOf(parts, publish, opened);
  const writes = otherWrites({ ...parts, db: files.db, publish });
  bringUp(parts, options, views);
  const { takeInBatch, takeAlone, passOver, keep, commit, rollback } = eventTaker(files, router, transaction, commits);
  finishLoad(files, commit, options);
  return {
    /**
     * Takes one event. When this returns, the event is on disk.
     * @throws PayloadError where it can't be understood, UnknownParentError where another must come first; then nothing
     *   has changed; StoreUnavailableError where it could not be written: it must be sent again
     */
    receive(event: ReceivedEvent): Outcome {
      // What the journal took though the index could not is not taken once more.
      transaction.settle();
      if (last.is(event)) {
        passOver(event);
        return 'repeated';
      }
      const applied = takeAlone(event);
      if (applied.outcome === 'applied') last.note(event);
      report(applied);
      return applied.outcome;
    },

    /**
     * Takes an event of an import: events taken since the last `keep` or `commit` become durable together.
     * @throws what `receive` throws; those before stay, unless the store fails
     */
    take(event: ReceivedEvent): Outcome {
      const applied = takeInBatch(event);
      report(applied);
      return applied.outcome;
    },
    /** The last event that was taken. */
    place: files.places.current,
    /** Makes what was taken durable. Others may not see it before `commit`. @throws StoreUnavailableError */
    keep,
    /** Makes what was taken durable, and lets others see it. @throws StoreUnavailableError */
    commit,
    rollback,
    /** Makes the indexes that a load went on without, one with each step; for the end of the load. @throws SQLiteError */
    listIndexSteps: () => listIndexesOf(files, commit),

    /** How far a source was read: a recording, by the hash of how it begins, or a stream. */
    imported: (source: string): Imported => files.imports.get(source),
    /** Kept with the next `keep` or `commit`. */
    setImported(source: string, imported: Imported): void {
      transaction.begin();
      transaction.guarded(() => files.imports.set(source, imported));
    },

    tipHeight: (): number => router.chain.tip().height,
    /** How many things of kinds that only a newer node knows came since the process began. */
    unknownCounts: router.unknownCounts,
    chainId: identity.chainId,
    /** Holds the data to a chain, as the setting does. @throws OperatorError where it is of another */
    holdTo: (chainId: number): void => transaction.write(() => identity.require(chainId, options.directory)),
    /** Null before the first block, unless the chain was set. */
    networkKind: (): Network['kind'] | null => identity.network()?.kind ?? null,
    /** Null before the first block, unless it was set. */
    network: identity.network,

    /**
     * The follower takes part in each change of the chain from now on. Its tables are this host's own then, wherever they
     * came from.
     */
    follow(one: ChainFollower): void {
      if (origins.origin() === 'entries') transaction.write(origins.leaveEntries);
      follower.set(one);
    },
    history: views.history,
    hooks: views.hooks,
    /** The entries of a log that several hosts share; null where there is none. */
    entries: views.entries,
    /** Indexes of decoded values: how they stand, and what brings them nearer to what is asked for, in a transaction. */
    valueIndexes: { all: valueIndexes(files.db), step: valueIndexSteps(files.db, options.valueIndexRows) },
    /**
     * Commits the events that share a commit, so that others can read what was answered. Called before anybody in this
     * process reads; other threads and processes see an event some milliseconds after its answer.
     */
    publish,
    /** The commits of the index since this was opened. */
    commits: parts.commits,
    ...writes,
    /** Names what is committed by now, for `durable`. */
    position: durability.position,
    /**
     * Resolves when what was committed at a position is on the disk. Comes before whatever is made from it leaves the
     * process: the journal would bring a lost commit back, but not how chainhooks had told of it.
     * @throws StoreUnavailableError
     */
    async durable(position: number): Promise<void> {
      await writes.queue.run(() => transaction.settle());
      await durability.reached(position);
    },

    health,
    /** Where writes fail, tries whether they still do. The journal's events that the index lacks are applied. */
    probe(): void {
      const failing = health.failing();
      if (failing === null || transaction.isOpen()) return;
      if (failing.failure === 'full' && !hasRoom(directory)) return;
      try {
        transaction.probe();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    },

    close(): void {
      publish();
      // What the journal has of it comes back when the files are opened again.
      transaction.abandon();
      for (const close of opened) close();
    },
  };
}
