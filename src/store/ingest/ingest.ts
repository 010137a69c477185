/**
 * A data directory that is open for writing: its files, the state machine that entries are applied to, and the writer that
 * accepts entries. See `writer.ts` for how entries are accepted, `event-router.ts` for events, `commands.ts` for commands.
 */

import { statfsSync } from 'node:fs';
import { type Clock, microseconds, type RandomSource, systemRandom } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { StoreUnavailableError } from '../../base/system-errors.ts';
import type { Network } from '../../chain/network.ts';
import { truncateWal } from '../files/checkpointer.ts';
import { type Connect, openToRead, openToWrite } from '../files/connection.ts';
import { indexPath, type Load, openWriter } from '../files/database.ts';
import type { ImportProgress, Journal } from '../files/journal.ts';
import { indexPosition, openLinkedJournal } from '../files/journal-link.ts';
import { type Lock, lockWriter } from '../files/lock.ts';
import { deleteAbandonedStaging, installOffer } from '../files/new-index.ts';
import { makeSecondaryIndexes, type SecondaryIndexProgress } from '../files/secondary-indexes.ts';
import { deleteFinishedStaging } from '../files/staged-files.ts';
import { hookReads, hookStore } from '../hooks/store.ts';
import type { ValueIndexChoice } from '../model/contract.ts';
import { logIdentityQuery } from '../queries/blocks/chain.ts';
import { valueIndexes } from '../queries/contracts/value-search.ts';
import type { WriterConnection } from '../read/index-file.ts';
import { chainIdentity } from './chain-identity.ts';
import { type Commander, entryCommands } from './commands.ts';
import { CommitCount } from './commit-count.ts';
import type { IngestLog, Outcome, PreparedEntry, ReceivedEvent } from './event.ts';
import { type EventRouter, eventRouter } from './event-router.ts';
import { faucetCommands, faucetRequests } from './faucet-requests.ts';
import { startCommand } from './history-start.ts';
import { knownBlocks } from './known-blocks.ts';
import { identityCommand, logIdentity, newIdentity } from './log-identity.ts';
import { oldNameCommands } from './old-names.ts';
import type { ChainHistory, ComposeMachine } from './state-machine.ts';
import { tokenCommands } from './token-commands.ts';
import { chooseValueIndexes, valueIndexBatches } from './value-indexes.ts';
import { Writer } from './writer.ts';
import { writerHealth } from './writer-health.ts';

export type { IngestEvent, Outcome, ReceivedEvent } from './event.ts';
export type { ChainFollower, ChainHistory } from './state-machine.ts';

export interface IngestOptions {
  directory: string;
  /** Directory for the index, if the caller has locked the data directory; the data directory if omitted. */
  staging?: string;
  log: IngestLog;
  /** Kind of load; `events` if omitted. With `bulk` the write-ahead log may grow, and is emptied at the end. */
  load?: Load;
  /** Maximum bytes of the index; unlimited if omitted. */
  maxBytes?: number;
  /** Opens the files. */
  connect?: Connect;
  /** False for an index that nobody queries: it gets no views. */
  views?: boolean;
  /** Number of the journal's last entry that is applied; the newest if omitted. */
  replayTo?: number;
  /** Chain id that the operator set; null to use the first block's chain id. */
  chainId: number | null;
  /** `full` refuses a first block that isn't the genesis block; `any` if omitted. */
  history?: 'full' | 'any';
  /** Indexes of decoded values that the operator configured; if omitted, the index keeps its present ones. */
  valueIndexes?: readonly ValueIndexChoice[];
  /** Rows of a batch that fills an index of decoded values; tests use fewer than the default. */
  valueIndexRows?: number;
  /** The clock of group commits; without it, each event has a separate commit. */
  clock?: Pick<Clock, 'after' | 'monotonic'>;
  /** Makes the state machine of chainhooks. */
  machine: ComposeMachine;
  /** The random numbers of commands; the system's if omitted. */
  random?: Pick<RandomSource, 'uuid'>;
  /** Called if the directory's lock is lost: the process must end, and nothing is written any more. */
  lockLost?: (error: OperatorError) => void;
}

/** The log of a host, and the writer of its entries. Every function that writes is called in the writer's queue. */
export interface HostEntries
  extends Pick<Journal, 'after' | 'head' | 'chainAt' | 'pathsAfter'>,
    Pick<Writer, 'apply' | 'uncommitted' | 'commit' | 'rollback' | 'follow'> {
  /** The last entry that others can see. */
  position: Writer['committedPosition'];
}

/** Free bytes below which a disk counts as full. */
const ROOM_BYTES = 16_000_000;

const hasRoom = (directory: string): boolean => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize >= ROOM_BYTES;
};

type ChainLookups = Omit<ChainHistory, 'block'> & Pick<EventRouter['chain'], 'stored'>;

const toHistory = (chain: ChainLookups, network: () => Network): ChainHistory => ({
  ...chain,
  block: (indexBlockHash) => chain.stored(indexBlockHash, network()),
});

/**
 * Opens the files, and makes the state machine and the writer.
 * @param opened receives the opened files, which it closes in reverse order
 */
function openParts(options: IngestOptions, opened: DisposableStack) {
  const { log, machine: compose, lockLost = () => {}, random = systemRandom } = options;
  const files = openDataFiles(options, opened);
  const { db, journal, lock } = files;
  const requireLock = lockCheck(lock, lockLost);
  const health = writerHealth(log);
  const identity = chainIdentity(db);
  const commits = new CommitCount();
  const router = eventRouter({
    db,
    journal,
    identity,
    log,
    requiresWhole: options.history === 'full',
    changed: (change, time) => machine.follower.changed(change, time),
  });
  const commands = entryCommands(db);
  const logName = logIdentity(db, () => machine.follower.identityChanged());
  commands.add(logName.commands);
  commands.add(router.commands);
  commands.add(oldNameCommands(db));
  commands.add(faucetCommands(faucetRequests(db)));
  commands.add(tokenCommands(db));
  const history = toHistory(router.chain, identity.networkOrTest);
  const machine = compose({ store: hookStore(db), history, network: identity.network });
  commands.add(machine.commands);
  const writer = new Writer({
    index: db,
    journal,
    indexPosition: indexPosition(db),
    router,
    commands,
    commits,
    health,
    log,
    requireLock,
    commandsBefore(received) {
      const start = received === null ? null : router.startsAt(received.payload, received.event);
      return [
        ...(logName.isMissing() ? [identityCommand(newIdentity(random), random)] : []),
        ...(start === null ? [] : [startCommand(start, random)]),
      ];
    },
    listeners: [router.listener, identity.listener, commands.listener, logName.listener, machine.follower],
    clock: options.clock ?? null,
    upTo: options.replayTo ?? Number.POSITIVE_INFINITY,
  });
  return { files, health, identity, commits, router, writer, requireLock };
}

export type Ingest = ReturnType<typeof openIngest>;

/** Opens a data directory for writing, and brings the index up to its journal. */
export function openIngest(options: IngestOptions) {
  const { directory, chainId, valueIndexes: choices, load, log } = options;
  // If this fails, the caller may fix the cause and open the directory again.
  using opening = new DisposableStack();
  const { files, health, identity, commits, router, writer, requireLock } = openParts(options, opening);
  const { home, db, journal } = files;

  const wasUnbound = identity.chainId() === null;
  if (chainId !== null) identity.require(chainId, directory);
  writer.recover();
  if (choices !== undefined) chooseValueIndexes(db, choices, (change) => writer.local(change));
  // An import pushes no changes.
  writer.isLive = load !== 'bulk';
  const reader = opening.use(openToRead(indexPath(home)));

  /** Commits all applied events, then creates the missing secondary indexes. */
  function secondaryIndexesLeft(): Iterable<SecondaryIndexProgress> {
    writer.commit();
    return makeSecondaryIndexes(db, indexPath(home));
  }
  // Comes last, so that errors which keep a server from its start are reported before.
  if (load !== 'bulk') for (const step of secondaryIndexesLeft()) log({ event: 'secondary_index_begun', ...step });

  const entries: HostEntries = {
    position: () => writer.committedPosition(),
    after: journal.after,
    head: journal.head,
    chainAt: journal.chainAt,
    pathsAfter: journal.pathsAfter,
    apply: (...args) => writer.apply(...args),
    uncommitted: () => writer.uncommitted(),
    commit: () => writer.commit(),
    rollback: () => writer.rollback(),
    follow: (...args) => writer.follow(...args),
  };
  const opened = opening.move();

  return {
    /**
     * Accepts one event. When this returns, the event is on disk.
     * @throws PayloadError if it can't be parsed, UnknownParentError if its parent must come first; then nothing has changed;
     *   StoreUnavailableError if it could not be written: it must be sent again
     */
    receive: (event: ReceivedEvent): Outcome => writer.receive(event),

    /** Sends the commands of a single host. Each is an entry of the journal, and readable once it is done. */
    commander(clock: Pick<Clock, 'now' | 'monotonic'>, random: Pick<RandomSource, 'uuid'> = systemRandom): Commander {
      const send = (command: Parameters<Commander['run']>[0], isBatched: boolean): Promise<unknown> =>
        writer.queue.run(() => {
          const sent = { ...command, uuid: random.uuid(), isBatched };
          return writer.apply({ command: sent, receivedAt: microseconds(clock), clock }, 'each').result;
        });
      return {
        run: (command) => send(command, false),
        runBatches: async (command) => (await send(command, true)) === true,
      };
    },

    entries,

    /**
     * Applies an event of an import: events applied since the last `commitToJournal` or `commit` become durable together.
     * @throws as `receive`; the events before stay applied, unless the store fails
     */
    apply: (event: ReceivedEvent): Outcome =>
      writer.apply({ event }, 'end', false).isAppended ? 'applied' : 'repeated',
    /** Accepts any block as the first one, even if the options require the genesis block. */
    allowPartialHistory: router.allowPartialHistory,
    /** The last event that was applied. */
    position: () => writer.position(),
    /** Makes all applied events durable. Other connections may not see them before `commit`. @throws StoreUnavailableError */
    commitToJournal: () => writer.commitToJournal(),
    /** Makes all applied events durable and visible to other connections. @throws StoreUnavailableError */
    commit: () => writer.commit(),
    rollback: () => writer.rollback(),
    /** Makes the indexes that an import or rebuild left out, one after each value that it yields. @throws SQLiteError */
    makeSecondaryIndexes: secondaryIndexesLeft,

    /** Position up to which a source was imported. A source is a recording, by the hash of its first bytes, or a stream. */
    imported: (source: string): ImportProgress => journal.imports.get(source),
    /** Written with the next `commitToJournal` or `commit`. */
    setImported: (source: string, imported: ImportProgress): void => writer.setImported(source, imported),

    /** Identity of the log in hex; null before the first entry. */
    identity: logIdentityQuery(reader),
    /** Applies entries of the journal that were read ahead, for a new index. @throws StoreUnavailableError */
    replay: (entries: Iterable<PreparedEntry>) => writer.replay(entries),
    /** Number of the journal's last entry. */
    lastEntry: journal.lastId,
    /** Applies entries that only the journal has, including those of another process. @throws StoreUnavailableError */
    catchUp: () => writer.catchUp(),
    tipHeight: (): number => router.chain.tip().height,
    /** Numbers of unsupported kinds, which a newer node may send, since the process started. */
    unknownCounts: router.unknownCounts,
    chainId: identity.chainId,
    /** Requires a chain id, as the setting does. @throws OperatorError if the data has another chain id */
    holdTo: (chain: number): void => writer.local(() => identity.require(chain, directory)),
    /** Null before the first block, unless the chain was set. */
    networkKind: (): Network['kind'] | null => identity.network()?.kind ?? null,
    /** Null before the first block, unless it was set. */
    network: identity.network,

    /** The committed chainhooks. */
    hooks: hookReads(reader),
    /** The committed chain. */
    history: toHistory(knownBlocks(reader, journal), identity.networkOrTest),
    /** Gifts of the faucets. */
    faucetRequests: { count: faucetRequests(reader).count },
    /** Indexes of decoded values: `all` lists them, `batch` does a part of the work in the open transaction. */
    valueIndexes: { all: valueIndexes(reader), batch: valueIndexBatches(db, options.valueIndexRows) },
    /** Commits the pending group, so that other connections can read accepted events. */
    publish: () => writer.publish(),
    /** The connection that writes. It shows accepted events before they are committed. */
    writer: { db, showPending: () => writer.showPending(), changes: () => writer.changes() } satisfies WriterConnection,
    /** Counts the commits of the index. */
    commits,
    /** The order of all writes while several parts of the process write. */
    queue: writer.queue,
    /** Writes to a local table, which isn't derived from the log, in the writer's queue. @throws StoreUnavailableError */
    local: <T>(change: () => T): Promise<T> => writer.queue.run(() => writer.local(change)),

    health,
    /**
     * Checks that the directory is still locked. If writes fail, tries to write again: entries that only the journal has are
     * applied.
     */
    probe(): void {
      try {
        requireLock();
        const failing = health.failing();
        if (failing === null || writer.isOpen) return;
        if (failing.failure === 'full' && !hasRoom(directory)) return;
        writer.probe();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    },

    /** Releases data without an entry from the chain id that these options gave it. @throws StoreUnavailableError */
    forgetChain(): void {
      if (chainId !== null && wasUnbound && journal.lastId() === 0) writer.local(identity.forget);
    },

    /** Commits the pending group, and closes the files. May be called again. */
    close(): void {
      if (opened.disposed) return;
      using _files = opened;
      writer.publish();
      // Entries that the journal has are applied again when the files are opened again.
      writer.abandon();
    },
  };
}

/** Installs the new index of a finished rebuild, if there is one. */
function installNewIndex(directory: string, log: IngestLog): void {
  const offer = installOffer(directory);
  if (offer === 'none') return;
  log({ event: 'new_index', outcome: offer === 'usable' ? 'used' : offer });
}

/**
 * Locks the directory and opens its files.
 * @param opened receives the files and the lock
 * @throws OperatorError
 */
function openDataFiles(options: IngestOptions, opened: DisposableStack) {
  const { directory, staging, load = 'events', connect = openToWrite, maxBytes, views = true, log } = options;
  const home = staging ?? directory;
  let lock: Lock | null = null;
  if (staging === undefined) {
    lock = opened.use(lockWriter(directory));
    deleteAbandonedStaging(directory);
    installNewIndex(directory, log);
    deleteFinishedStaging(directory);
  }
  const db = opened.use(openWriter(home, { connect, load, views, ...(maxBytes === undefined ? {} : { maxBytes }) }));
  // SQLite empties the log with its last connection, but other processes may have the file open.
  if (load === 'bulk') opened.defer(() => void truncateWal(indexPath(home)));
  const journal = opened.use(openLinkedJournal(directory, db, connect));
  return { home, db, journal, lock };
}

/**
 * Makes the check before each commit. It reports a lost lock once.
 * @param lock null if the caller locked the directory
 */
function lockCheck(lock: Lock | null, onLost: (error: OperatorError) => void): () => void {
  let loss: OperatorError | null = null;
  return () => {
    try {
      if (loss !== null) throw loss;
      lock?.requireHeld();
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      if (loss === null) onLost(error);
      loss = error;
      throw new StoreUnavailableError('busy', error);
    }
  };
}
