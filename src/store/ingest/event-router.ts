/** Applies each kind of event to the index: passes its payload to the writers. */
import type { Database } from 'bun:sqlite';
import type { Block, TransactionContent } from '../../chain/block.ts';
import { type UnknownKind, unknownKinds } from '../../chain/effect.ts';
import type { Network } from '../../chain/network.ts';
import { type AnnouncedTransactions, announcedTransactions } from '../../chain/normalise.ts';
import { isEventPath, isHostPath, type NodePayload, readPayload, WITHHELD_PATH } from '../../chain/payload-reader.ts';
import type { DroppedPayload } from '../../chain/payload-schemas.ts';
import type { PreparedPayload } from '../../chain/prepared.ts';
import { fromHex } from '../../codec/hex.ts';
import { effectsWriter, type UnreadPrint } from '../effects/apply.ts';
import { dictionaries } from '../effects/dictionary.ts';
import type { Journal } from '../files/journal.ts';
import { DROPPED_FOR_UNKNOWN_REASON, droppedState } from '../rows/enums.ts';
import { attachmentWriter } from './attachment-writer.ts';
import { burnBlockWriter } from './burn-block-writer.ts';
import { type ChainIdentity, foreignTransaction } from './chain-identity.ts';
import { type AnnouncedBlock, announcedBlock, type ChainChange, chainWriter } from './chain-writer.ts';
import { changeWriter } from './change-writer.ts';
import { millisecondsOf } from './commands.ts';
import type { IngestLog, Outcome, ReceivedEvent, TransactionListener } from './event.ts';
import { HISTORY_START, type HistoryStartFacts, historyStarts, startingAccountWriter } from './history-start.ts';
import { mempoolWriter } from './mempool-writer.ts';
import type { ChainFollower } from './state-machine.ts';

/**
 * Maximum logged kinds of each thing. Otherwise, a byte that differs in each transaction would log a new kind each time and
 * hide other log events.
 */
const MAX_LOGGED = 25;
/** Characters of an unknown kind that are logged and remembered. */
const MAX_REASON = 200;

interface RouterOptions {
  db: Database;
  journal: Journal;
  identity: ChainIdentity;
  /** Notified of each change of the chain, in its transaction. An error that it throws rolls back the event. */
  changed: ChainFollower['changed'];
  /** Whether a partial history is refused. */
  requiresWhole: boolean;
  log: IngestLog;
}

const MICROSECONDS_PER_MILLISECOND = 1_000;

export interface Applied {
  outcome: Outcome;
  /** The change of the chain; null if the event isn't a block. */
  change: ChainChange | null;
}

const NOTHING: Applied = { outcome: 'repeated', change: null };
const toApplied = (isNew: boolean): Applied => ({ outcome: isNew ? 'applied' : 'repeated', change: null });

/** Returns whether no known node or host posts to this path. */
const isForeign = (path: string): boolean => !isEventPath(path) && !isHostPath(path) && path !== WITHHELD_PATH;

/** Numbers of transactions, events and so on whose kind this program doesn't support, since the process started. */
export type UnknownCounts = Readonly<Record<UnknownKind, number>>;

/** Counts unsupported kinds, which a newer node may send, and logs each kind once. */
function unknownKindLog(log: IngestLog) {
  const none = () => Object.fromEntries(unknownKinds.map((what) => [what, 0])) as Record<UnknownKind, number>;
  const counts = none();
  /** Counts since the last commit. The node sends a rolled-back event again. */
  let uncommitted = none();
  const loggedKinds = new Map(unknownKinds.map((what) => [what, new Set<string>()]));
  return {
    counts: counts as UnknownCounts,
    note(what: UnknownKind, kind: string): void {
      uncommitted[what] += 1;
      const logged = loggedKinds.get(what)!;
      const reason = kind.slice(0, MAX_REASON);
      if (logged.size >= MAX_LOGGED || logged.has(reason)) return;
      logged.add(reason);
      log({ event: 'unknown_kind', what, reason });
    },
    committed(): void {
      for (const what of unknownKinds) counts[what] += uncommitted[what];
      uncommitted = none();
    },
    forget(): void {
      uncommitted = none();
    },
  };
}

/** Logs prints that could not be read, once for each topic: a new topic is likely to come in every block. */
function unreadPrintLog(log: IngestLog): (print: UnreadPrint) => void {
  const logged = new Set<string>();
  return ({ contract, topic, reason }) => {
    const key = `${contract} ${topic}`;
    if (logged.has(key)) return;
    logged.add(key);
    log({ event: 'node_data_unread', what: 'stacking_print', contract, topic, reason });
  };
}

/** Reports whether the bytes of a transaction, in hex after 0x, have a chain id: four bytes after the version (SIP-005). */
const hasChainId = (raw: string, chainId: number): boolean => Number.parseInt(raw.slice(4, 12), 16) === chainId;

/** The readable transactions of a mempool event; none of other events. */
function announcedIn(payload: NodePayload | PreparedPayload): readonly TransactionContent[] {
  if (payload.kind === 'prepared_mempool') return payload.contents;
  return payload.kind === 'mempool' ? announcedTransactions(payload.rawTransactions).contents : [];
}

export type EventRouter = ReturnType<typeof eventRouter>;

/** Writes through this connection, inside the transaction that is open on it. */
export function eventRouter({ db, journal, identity, changed, log, ...options }: RouterOptions) {
  let { requiresWhole } = options;
  const names = dictionaries(db);
  const changes = changeWriter(db);
  const mempool = mempoolWriter(db, names, changes);
  const unknown = unknownKindLog(log);
  const effects = effectsWriter(db, names, {
    onUnreadPrint: unreadPrintLog(log),
    onUnknownKind: ({ what, reason }) => unknown.note(what, reason),
  });
  const chain = chainWriter(db, journal, { effects, mempool });
  const burnBlocks = burnBlockWriter(db);
  const addAttachments = attachmentWriter(db);
  const startOf = historyStarts(chain, () => requiresWhole);
  const addStartingAccount = startingAccountWriter(db);
  /** Blocks that the history's start orphaned. The next event is the block that the history starts for, and logs them. */
  let restarted: readonly Block[] = [];

  function addBlock(
    announced: AnnouncedBlock,
    network: () => Network,
    journalId: number,
    event: ReceivedEvent,
  ): Applied {
    const { height, indexBlockHash } = announced;
    const isKnown = chain.isKnown(indexBlockHash);
    const change = isKnown
      ? chain.complete(announced, journalId, network, event.receivedAt)
      : chain.add(announced, journalId, network(), event.receivedAt);
    if (change === null) return NOTHING;
    changed(change, millisecondsOf(event));
    const reverted = [...restarted, ...change.reverted];
    restarted = [];
    for (const block of change.reverted) changes.block('undone', block.indexBlockHash);
    for (const block of change.applied) changes.block('block', block.indexBlockHash);
    // Block 0 is always stored with the orphans, and no subscriber waits for it.
    if (!isKnown && change.applied.length === 0 && height > 0) changes.block('orphan', indexBlockHash);
    return { outcome: 'applied', change: { reverted, applied: change.applied } };
  }

  function announce({ contents, skipped }: AnnouncedTransactions, now: number): Applied {
    for (const reason of skipped) log({ event: 'node_data_unread', what: 'pending_transaction', reason });
    return toApplied(mempool.announce(contents, { time: now, height: chain.tip().height }) > 0);
  }

  function drop({ dropped_txids, reason, new_txid }: DroppedPayload, now: number): Applied {
    const state = droppedState(reason);
    if (state === undefined) log({ event: 'node_data_unread', what: 'drop_reason', reason });
    const replacedBy = new_txid == null ? null : fromHex(new_txid);
    const drop = { state: state ?? DROPPED_FOR_UNKNOWN_REASON, replacedBy };
    const receipt = { time: now, height: chain.tip().height };
    return toApplied(mempool.drop(dropped_txids.map(fromHex), drop, receipt) > 0);
  }

  function route(payload: NodePayload | PreparedPayload, event: ReceivedEvent, journalId: number): Applied {
    const now = event.receivedAt;
    switch (payload.kind) {
      case 'block': {
        const { block } = payload;
        // A restarted node announces block 0 without its transactions, which isn't a complete genesis block.
        if (block.block_height === 0 && block.transactions.length === 0 && chain.isEmpty()) return NOTHING;
        return addBlock(announcedBlock(block), () => identity.networkFor(block), journalId, event);
      }
      case 'prepared_block':
        // The payload was prepared before the first block, or for another chain.
        if (payload.chainId !== identity.chainId()) return route(readPayload(event.path, event.text), event, journalId);
        return addBlock({ ...payload.block, read: () => payload }, identity.networkOrTest, journalId, event);
      case 'burn_block':
        return toApplied(burnBlocks.add(payload.burnBlock, event.text));
      case 'mempool':
        return announce(announcedTransactions(payload.rawTransactions), now);
      case 'prepared_mempool':
        return announce(payload, now);
      case 'dropped':
        return drop(payload.dropped, now);
      case 'attachments':
        return toApplied(addAttachments(payload.attachments) > 0);
      case 'starting_account': {
        const isNew = addStartingAccount(payload.account);
        if (isNew) mempool.accountKnown(now);
        return toApplied(isNew);
      }
      case 'other':
        if (isForeign(event.path)) unknown.note('path', event.path);
        return toApplied(payload.journaled);
    }
  }

  return {
    /** The blocks of the chain, for look-ups. */
    chain,
    unknownCounts: unknown.counts,

    allowPartialHistory(): void {
      requiresWhole = false;
    },

    commands: {
      /** @param time Unix milliseconds */
      [HISTORY_START](facts: HistoryStartFacts, time: number): void {
        const change = chain.startHistory(facts, identity.networkOrTest(), time * MICROSECONDS_PER_MILLISECOND);
        changed(change, time);
        restarted = change.reverted;
        for (const block of restarted) changes.block('undone', block.indexBlockHash);
      },
    },

    /** Ends a command that is an entry of its own. @param live whether its changes are pushed to subscribers */
    endCommand: (live: boolean): void => changes.end(live),

    /**
     * Returns where the history starts if an event changes that; otherwise null.
     * @throws as {@link historyStarts}
     */
    startsAt(payload: NodePayload | PreparedPayload, event: ReceivedEvent): HistoryStartFacts | null {
      if (payload.kind === 'block') return startOf(announcedBlock(payload.block), () => event.text);
      return payload.kind === 'prepared_block' ? startOf(payload.block, () => event.text) : null;
    },

    /**
     * Checks that announced transactions belong to the data's chain. A node accepts only transactions of its own chain.
     * Replayed entries aren't checked: older versions stored such transactions.
     * @throws ForeignChainError if all of them belong to other chains
     */
    requireOwnChain(payload: NodePayload | PreparedPayload): void {
      const ownChainId = identity.chainId();
      if (ownChainId === null) return;
      // Almost all events end here, without being decoded twice.
      if (payload.kind === 'mempool' && payload.rawTransactions.some((raw) => hasChainId(raw, ownChainId))) return;
      const contents = announcedIn(payload);
      const [first] = contents;
      if (first === undefined || contents.some(({ chainId }) => chainId === 0 || chainId === ownChainId)) return;
      throw foreignTransaction(first, ownChainId, chain.isEmpty());
    },

    /**
     * Applies an event.
     * @param journalId number of its entry in the journal
     * @param live whether its changes are pushed to subscribers
     */
    apply(payload: NodePayload | PreparedPayload, event: ReceivedEvent, journalId: number, live: boolean): Applied {
      const applied = route(payload, event, journalId);
      changes.end(live);
      return applied;
    },

    /** Writes the rows that are buffered until the end of a transaction; called before each commit. */
    store(): void {
      for (const part of [effects, mempool]) part.store();
    },

    listener: {
      undone() {
        for (const part of [names.principals, names.assets, effects, chain, mempool, unknown]) part.forget();
        changes.discard();
        restarted = [];
      },
      committed: unknown.committed,
    } satisfies TransactionListener,
  };
}
