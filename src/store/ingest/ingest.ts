/**
 * Events into the index, each exactly once: read, applied inside an open transaction, written to the journal, committed.
 * What holds the two files together is in `ingest/transactions.ts`, what an event does in `ingest/event-router.ts`.
 */

import { statfsSync } from 'node:fs';
import type { Network } from '../../chain/network.ts';
import { type NodePayload, readPayload } from '../../chain/payload-reader.ts';
import { type Connect, openToWrite } from '../files/connection.ts';
import { indexPath, openWriter } from '../files/database.ts';
import { type Imported, importProgress } from '../files/import-progress.ts';
import { indexPlace, openLinkedJournal } from '../files/journal-link.ts';
import { lockWriter } from '../files/lock.ts';
import { StoreUnavailableError } from '../files/store-failure.ts';
import { clearWorkshop } from '../hooks/carry-over.ts';
import { type HookStore, hookStore } from '../hooks/store.ts';
import { chainIdentity } from './chain-identity.ts';
import type { ChainChange } from './chain-writer.ts';
import { type FileSync, fileSync, indexDurability } from './durability.ts';
import type { IngestLog, Outcome, ReceivedEvent } from './event.ts';
import { type Applied, eventRouter } from './event-router.ts';
import { type FaucetRequests, faucetRequests } from './faucet-requests.ts';
import type { ChainFollower, ChainHistory } from './follower.ts';
import { type Participant, transactions } from './transactions.ts';
import { writerHealth } from './writer-health.ts';

export type { IngestEvent, Outcome, ReceivedEvent } from './event.ts';
export type { ChainFollower, ChainHistory } from './follower.ts';

export interface IngestOptions {
  directory: string;
  /** Keep every event, to rebuild the index from. */
  journal: boolean;
  /** Where the index is made, by a caller that has the lock of the directory; else in the directory. */
  workshop?: string;
  /** The journal's last entry that is applied; else all are. */
  replayTo?: number;
  /** As set by the operator; else taken from the first block. */
  chainId: number | null;
  log: IngestLog;
  /** Opens the files. */
  connect?: Connect;
  /** Puts what was written to a file on the disk. */
  sync?: FileSync;
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

/** An event as one compares it with the next. */
interface Digest {
  path: string;
  length: number;
  hash: bigint;
}

const digestOf = ({ path, text }: { path: string; text: string }): Digest => ({
  path,
  length: text.length,
  hash: Bun.hash(text) as bigint,
});
const isSame = (a: Digest, b: Digest | null): boolean =>
  a.path === b?.path && a.length === b.length && a.hash === b.hash;

/** Entries of the journal that are applied in one transaction. */
const REPLAY_BATCH = 200;
/** With less room than this a full disk counts as full, whatever fits into its files as they are. */
const ROOM_BYTES = 16_000_000;

const hasRoom = (directory: string): boolean => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize >= ROOM_BYTES;
};

/** @param opened gets what closes again what was opened, in the order to close it in */
function startIngest(options: IngestOptions, opened: (() => void)[]) {
  const { directory, journal: withJournal, workshop, chainId, log, connect = openToWrite, sync = fileSync } = options;
  const home = workshop ?? directory;
  if (workshop === undefined) {
    opened.unshift(lockWriter(directory));
    clearWorkshop(directory);
  }
  const db = openWriter(home, withJournal ? 'journal' : 'own', connect);
  opened.unshift(() => db.close());
  const journal = openLinkedJournal(directory, db, {
    keep: withJournal,
    connect,
    report: (entries) => log({ event: 'journal_upgraded', entries }),
  });
  if (journal !== null) opened.unshift(() => journal.close());
  const places = indexPlace(db);
  const imports = journal?.imports ?? importProgress(db);
  const hookTables: HookStore = hookStore(db);
  const requests = faucetRequests(db);
  const health = writerHealth(log);
  const identity = chainIdentity(db);
  const durability = indexDurability(withJournal ? `${indexPath(home)}-wal` : null, sync, health);
  let follower: ChainFollower | null = null;
  const router = eventRouter({ db, journal, identity, changed: (change) => follower?.changed(change), log });

  /** The event that was committed last: a node that missed our answer sends it again. */
  let last: Digest | null = null;
  /** Whether what comes is told to subscribers: what the journal brings back at the start isn't. */
  let serving = false;

  const participants: readonly Participant[] = [
    router.participant,
    identity.participant,
    durability.participant,
    {
      undone: () => follower?.undone(),
      committed: () => follower?.committed(),
      recovered: () => follower?.recovered(),
    },
  ];
  const transaction = transactions({ index: db, journal, participants, catchUp: replay, health });

  /** Applies the journal's entries that the index lacks: after a crash, after a failure, or for a new index. */
  function replay(batch: (work: () => void) => void): void {
    if (journal === null) return;
    const end = Math.min(journal.lastId(), options.replayTo ?? Number.POSITIVE_INFINITY);
    let at = places.current().id;
    let events = 0;
    while (at < end) {
      batch(() => {
        let inBatch = 0;
        for (const entry of journal.entriesAfter(at)) {
          report(router.apply(readPayload(entry.path, entry.text), entry, entry.id, serving));
          // An entry that changes nothing now (it may have, before a fix of ours) is done with too.
          places.set(entry);
          at = entry.id;
          inBatch += 1;
          if (inBatch === REPLAY_BATCH || at === end) break;
        }
        events += inBatch;
      });
    }
    if (events > 0) log({ event: 'journal_replayed', events });
    // A commit that seemed to fail may be done all the same: its event is no news when it comes again.
    const newest = journal.read(end);
    last = newest === undefined ? null : digestOf(newest);
  }

  function report({ change }: { change: ChainChange | null }): void {
    if (change === null) return;
    for (const { height, indexBlockHash } of change.reverted) {
      log({ event: 'block_reverted', height, index_block_hash: `0x${indexBlockHash.toHex()}` });
    }
    for (const { height, transactions } of change.applied) {
      log({ event: 'block_applied', height, transactions: transactions.length });
    }
  }

  function applyEvent(event: ReceivedEvent, payload: NodePayload, live: boolean): Applied {
    const journalId = journal === null ? null : transaction.guarded(places.current).id + 1;
    const applied = transaction.step(() => {
      const done = router.apply(payload, event, journalId, live);
      if (done.outcome === 'applied') places.advance(event);
      return done;
    });
    if (applied.outcome === 'applied') transaction.guarded(() => journal?.append({ ...event, ...places.current() }));
    return applied;
  }

  /** Applies the event in a transaction that may hold others. */
  function take(event: ReceivedEvent, live: boolean): Applied {
    const payload = readPayload(event.path, event.text);
    transaction.begin();
    return applyEvent(event, payload, live);
  }

  /** Takes the event and nothing else. */
  function takeAlone(event: ReceivedEvent): Applied {
    try {
      const applied = take(event, true);
      if (applied.outcome === 'applied') transaction.commit();
      else transaction.rollback();
      return applied;
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  }

  if (chainId !== null) identity.require(chainId, directory);
  transaction.settle();
  serving = true;

  return {
    /**
     * Takes one event. When this returns, the event is on disk.
     * @throws PayloadError where it can't be understood, UnknownParentError where another must come first; then nothing
     *   has changed; StoreUnavailableError where it could not be written: it must be sent again
     */
    receive(event: ReceivedEvent): Outcome {
      // What the journal took though the index could not is not taken once more.
      transaction.settle();
      const digest = digestOf(event);
      if (isSame(digest, last)) return 'repeated';
      const applied = takeAlone(event);
      if (applied.outcome === 'applied') last = digest;
      report(applied);
      return applied.outcome;
    },

    /** For imports: events taken since the last `commit` become durable together. @throws as `receive` */
    take(event: ReceivedEvent): Outcome {
      const applied = take(event, false);
      report(applied);
      return applied.outcome;
    },
    commit: transaction.commit,
    rollback: transaction.rollback,

    /** What was taken of a recording, by the hash of how it begins. */
    imported: (source: string): Imported => imports.get(source),
    /** Kept with the next `commit`. */
    setImported(source: string, imported: Imported): void {
      transaction.begin();
      transaction.guarded(() => imports.set(source, imported));
    },

    tipHeight: (): number => router.chain.tip().height,
    chainId: identity.chainId,
    /** Null before the first block, unless the chain was set. */
    networkKind: (): Network['kind'] | null => identity.network()?.kind ?? null,
    /** Null before the first block, unless it was set. */
    network: identity.network,
    /** Written between events, each by itself. */
    faucetRequests: {
      count: requests.count,
      add: (...request) => transaction.write(() => requests.add(...request)),
      forgetBefore: (time) => transaction.write(() => requests.forgetBefore(time)),
    } satisfies FaucetRequests,

    /** From now on it takes part in each change of the chain. */
    follow(one: ChainFollower): void {
      follower = one;
    },
    history: {
      tip: router.chain.tip,
      hashAt: router.chain.hashAt,
      branchOf: router.chain.branchOf,
      block: (indexBlockHash) => router.chain.stored(indexBlockHash, identity.networkOrTest()),
    } satisfies ChainHistory,
    hooks: hookTables,
    /**
     * Writes of others than the node, all of them or none. Between events: not while a transaction of events is open.
     * @param when `synced`: on disk when this returns, whatever becomes of the machine
     * @throws what `write` throws, StoreUnavailableError
     */
    transaction<T>(write: () => T, when: 'synced' | 'usual' = 'usual'): T {
      const result = transaction.write(write);
      if (when === 'synced') durability.now();
      return result;
    },
    /** Names what is committed by now, for `durable`. */
    position: durability.position,
    /**
     * Resolves when what was committed at a position is on the disk. Comes before whatever is made from it leaves the
     * process: the journal would bring a lost commit back, but not how chainhooks had told of it.
     * @throws StoreUnavailableError
     */
    async durable(position: number): Promise<void> {
      transaction.settle();
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
      transaction.rollback();
      for (const close of opened) close();
    },
  };
}
