/**
 * Events into the index, each exactly once. An event is first applied to the index inside an open transaction, then
 * written to the journal and synced, then the index commits. Whatever the moment of a crash: an event that is not in the
 * journal was not answered and will come again; one that is in the journal and not in the index is applied at the start.
 */

import type { Block } from '../chain/block.ts';
import { MAINNET_CHAIN_ID, type Network, networkOf, TESTNET_CHAIN_ID } from '../chain/network.ts';
import { streamedMicroblocks, transactionContent } from '../chain/normalise.ts';
import { type NodePayload, readPayload } from '../chain/payload-reader.ts';
import type { BlockPayload, DroppedPayload, MicroblocksPayload } from '../chain/payload-schemas.ts';
import { DecodeError } from '../codec/decode-error.ts';
import { fromHex } from '../codec/hex.ts';
import { decodeTransaction } from '../codec/transaction.ts';
import { OperatorError } from '../errors.ts';
import { effectsWriter, type UnreadPrint } from './apply.ts';
import { attachmentWriter } from './attachment-writer.ts';
import { blockPayloads } from './block-payloads.ts';
import { burnBlockWriter } from './burn-block-writer.ts';
import { type ChainChange, chainWriter } from './chain-writer.ts';
import { changeWriter } from './change-writer.ts';
import { openWriter } from './database.ts';
import { dictionaries } from './dictionary.ts';
import { faucetRequests } from './faucet-requests.ts';
import { type HookStore, hookStore } from './hooks/store.ts';
import { type Imported, importProgress } from './import-progress.ts';
import { type Journal, openJournal } from './journal.ts';
import { lockWriter } from './lock.ts';
import { mempoolWriter } from './mempool-writer.ts';
import { microblockWriter } from './microblock-writer.ts';
import type { Change } from './model.ts';
import type { PayloadSource } from './payload-source.ts';
import { dropReasons, UNKNOWN_DROP_REASON } from './rows.ts';

/** An event as it reached us. */
export interface ReceivedEvent {
  path: string;
  /** JSON. */
  text: string;
  /** Unix microseconds. */
  receivedAt: number;
}

/** `repeated`: the index and the journal hold it already, or it changes nothing; neither was written. */
export type Outcome = 'applied' | 'repeated';

/** What ingest says of its work. */
export type IngestEvent =
  | { event: 'block_applied'; height: number; transactions: number }
  | { event: 'block_reverted'; height: number; index_block_hash: string }
  | { event: 'mempool_transaction_skipped'; reason: string }
  | { event: 'drop_reason_unknown'; reason: string }
  | { event: 'stacking_print_unread'; contract: string; topic: string | null; reason: string }
  | { event: 'journal_replayed'; events: number };

export interface IngestOptions {
  directory: string;
  /** Keep every event, to rebuild the index from. */
  journal: boolean;
  /** As set by the operator; else taken from the first block. */
  chainId: number | null;
  log: (event: IngestEvent) => void;
}

/** What takes part in the changes of the chain, inside the transaction of each. */
export interface ChainFollower {
  /** May write. What it throws undoes the event. */
  changed(change: ChainChange): void;
  /** The transaction of the last changes is committed. */
  committed(): void;
  /** All that was written since the last commit is undone, maybe also what other changes wrote. */
  undone(): void;
}

/** The known blocks, for those who follow the chain. */
export interface ChainHistory {
  tip(): { height: number; indexBlockHash: Uint8Array };
  /** Of the canonical block of that height. */
  hashAt(height: number): Uint8Array | undefined;
  /** @throws UnknownParentError for a block that isn't known */
  branchOf(indexBlockHash: Uint8Array): { forkHeight: number; hashes: Uint8Array[] };
  /**
   * A known block, canonical or not; block 1 without the transactions of block 0.
   * @throws OperatorError where its payload is kept no more
   */
  block(indexBlockHash: Uint8Array): Block;
}

interface Progress {
  chain_id: number | null;
  journal_id: number;
}

/** The chain id of the first transaction that somebody signed; else what the version bit of an unsigned one says. */
function chainIdOf(payload: BlockPayload): { chainId: number; certain: boolean } | null {
  let guess: number | null = null;
  for (const { raw_tx } of payload.transactions) {
    if (raw_tx === '0x00') continue;
    const decoded = decodeTransaction(fromHex(raw_tx));
    if (!decoded.ok) continue;
    const { chainId, version } = decoded.value;
    if (chainId !== 0) return { chainId, certain: true };
    guess ??= version & 0x80 ? TESTNET_CHAIN_ID : MAINNET_CHAIN_ID;
  }
  return guess === null ? null : { chainId: guess, certain: false };
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

/** @param opened gets what closes again what was opened, in the order to close it in */
function startIngest({ directory, journal: withJournal, chainId, log }: IngestOptions, opened: (() => void)[]) {
  opened.unshift(lockWriter(directory));
  const db = openWriter(directory, withJournal ? 'journal' : 'own');
  opened.unshift(() => db.close());
  const journal: Journal | null = withJournal ? openJournal(directory) : null;
  if (journal !== null) opened.unshift(() => journal.close());
  const names = dictionaries(db);
  const changes = changeWriter(db);
  const mempool = mempoolWriter(db, names, changes);
  const microblocks = microblockWriter(db);
  const payloads = blockPayloads(db, journal);
  const unreadPrints = new Set<string>();
  const chain = chainWriter(db, {
    apply: effectsWriter(db, names, { onUnreadPrint: sayUnread }),
    mempool,
    microblocks,
    payloads,
  });
  const burnBlocks = burnBlockWriter(db);
  const progress = db.prepare<Progress, []>('SELECT chain_id, journal_id FROM progress');
  const setChainId = db.prepare<null, [number]>('UPDATE progress SET chain_id = ?1');
  const setJournalId = db.prepare<null, [number]>('UPDATE progress SET journal_id = ?1');
  const addAttachments = attachmentWriter(db);
  const imports = journal?.imports ?? importProgress(db);
  const hookTables: HookStore = hookStore(db);

  let kept: number | null = progress.get()?.chain_id ?? null;
  let lastJournalId = journal?.lastId() ?? 0;
  /** Whether a transaction is open, on the index and, but for a replay, on the journal. */
  let open = false;
  /** The journal holds what the index failed to commit; it is applied before anything else. */
  let behind = false;
  /** What the event that is being applied did to the chain. */
  let told: Omit<Change, 'id'>[] = [];
  let follower: ChainFollower | null = null;
  /** The event that was committed last: a node that missed our answer sends it again. */
  let last = { path: '', length: 0, digest: 0n };

  if (chainId !== null && kept !== null && chainId !== kept) {
    throw new OperatorError(
      `The data in ${directory} is of chain 0x${kept.toString(16)}, the setting says 0x${chainId.toString(16)}.`,
      'Give each chain its own --data directory, and check which node posts to this port.',
    );
  }
  if (chainId !== null && kept === null) {
    setChainId.run(chainId);
    kept = chainId;
  }

  function networkFor(payload: BlockPayload): Network {
    if (kept !== null) return networkOf(kept);
    const found = chainIdOf(payload);
    if (found?.certain) {
      setChainId.run(found.chainId);
      kept = found.chainId;
    }
    return networkOf(found?.chainId ?? TESTNET_CHAIN_ID);
  }

  /** Says it once of each topic: a new one is likely to come in every block. */
  function sayUnread({ contract, topic, reason }: UnreadPrint): void {
    const key = `${contract} ${topic}`;
    if (unreadPrints.has(key)) return;
    unreadPrints.add(key);
    log({ event: 'stacking_print_unread', contract, topic, reason });
  }

  function reportChange({ reverted, applied }: ChainChange): void {
    for (const { height, indexBlockHash } of reverted) {
      log({ event: 'block_reverted', height, index_block_hash: `0x${indexBlockHash.toHex()}` });
    }
    for (const { height, transactions } of applied) {
      log({ event: 'block_applied', height, transactions: transactions.length });
    }
  }

  function addBlock(payload: BlockPayload, source: PayloadSource, now: number): Outcome {
    if (chain.isKnown(fromHex(payload.index_block_hash))) return 'repeated';
    const change = chain.add(payload, source, networkFor(payload), now);
    follower?.changed(change);
    reportChange(change);
    for (const { indexBlockHash } of change.applied) told.push({ kind: 'block', subject: indexBlockHash });
    // Block 0 is always beside the chain, and no block that anybody waits for.
    if (change.applied.length === 0 && payload.block_height > 0) {
      told.push({ kind: 'orphan', subject: fromHex(payload.index_block_hash) });
    }
    return 'applied';
  }

  function addMicroblocks(payload: MicroblocksPayload, source: PayloadSource, now: number): Outcome {
    const tip = chain.tip();
    const parent = fromHex(payload.parent_index_block_hash);
    if (Buffer.compare(parent, tip.indexBlockHash) !== 0) return 'repeated';
    const network = networkOf(kept ?? TESTNET_CHAIN_ID);
    const change = microblocks.add(streamedMicroblocks(payload, network), parent, now, source);
    if (change === null) return 'repeated';
    mempool.streamChanged(change.joined, change.left);
    for (const hash of change.added) told.push({ kind: 'microblock', subject: hash });
    return 'applied';
  }

  function announce(rawTransactions: readonly string[], now: number): Outcome {
    const contents = [];
    for (const raw of rawTransactions) {
      // Anybody can put anything into a mempool: what can't be read is left out, the rest is taken.
      try {
        const decoded = transactionContent(fromHex(raw));
        if (decoded.ok) contents.push(decoded.value);
        else log({ event: 'mempool_transaction_skipped', reason: decoded.error.message });
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        log({ event: 'mempool_transaction_skipped', reason: error.message });
      }
    }
    return mempool.announce(contents, { time: now, height: chain.tip().height }) > 0 ? 'applied' : 'repeated';
  }

  function drop({ dropped_txids, reason, new_txid }: DroppedPayload): Outcome {
    const state = dropReasons[reason];
    if (state === undefined) log({ event: 'drop_reason_unknown', reason });
    const replacedBy = new_txid == null ? null : fromHex(new_txid);
    return mempool.drop(dropped_txids.map(fromHex), state ?? UNKNOWN_DROP_REASON, replacedBy) > 0
      ? 'applied'
      : 'repeated';
  }

  function applyPayload(payload: NodePayload, event: ReceivedEvent, journalId: number | null): Outcome {
    const now = event.receivedAt;
    const source = journalId === null ? { text: event.text } : { journalId };
    switch (payload.kind) {
      case 'block':
        return addBlock(payload.block, source, now);
      case 'microblocks':
        return addMicroblocks(payload.microblocks, source, now);
      case 'burn_block':
        return burnBlocks.add(payload.burnBlock, event.text) ? 'applied' : 'repeated';
      case 'mempool':
        return announce(payload.rawTransactions, now);
      case 'dropped':
        return drop(payload.dropped);
      case 'attachments':
        return addAttachments(payload.attachments) > 0 ? 'applied' : 'repeated';
      case 'other':
        return payload.journaled && journal !== null ? 'applied' : 'repeated';
    }
  }

  /**
   * Runs inside the open transaction; what it wrote is taken back where it throws.
   * @param live whether those who follow the chain are told
   */
  function applyEvent(event: ReceivedEvent, payload: NodePayload, journalId: number | null, live: boolean): Outcome {
    const keptBefore = kept;
    told = [];
    db.run('SAVEPOINT event');
    try {
      const outcome = applyPayload(payload, event, journalId);
      if (live) changes.tell(told);
      else changes.discard();
      if (outcome === 'applied' && journalId !== null) setJournalId.run(journalId);
      db.run('RELEASE event');
      return outcome;
    } catch (error) {
      db.run('ROLLBACK TO event');
      db.run('RELEASE event');
      changes.discard();
      names.principals.forget();
      names.assets.forget();
      kept = keptBefore;
      follower?.undone();
      throw error;
    }
  }

  /** Undoes what the index holds of the open transaction. */
  function forgetOpen(): void {
    open = false;
    db.run('ROLLBACK');
    names.principals.forget();
    names.assets.forget();
    follower?.undone();
    kept = progress.get()?.chain_id ?? null;
    lastJournalId = journal?.lastId() ?? 0;
  }

  function begin(): void {
    if (open) return;
    if (behind) {
      replay(true);
      behind = false;
    }
    db.run('BEGIN IMMEDIATE');
    journal?.begin();
    open = true;
  }

  function rollback(): void {
    if (!open) return;
    journal?.rollback();
    forgetOpen();
  }

  function commit(): void {
    if (!open) return;
    // In this order: see the head of this file.
    journal?.commit();
    try {
      db.run('COMMIT');
      open = false;
      follower?.committed();
    } catch (error) {
      behind = journal !== null;
      forgetOpen();
      throw error;
    }
  }

  /** Applies the event in a transaction that may hold others; {@link commit} makes it durable. */
  function take(event: ReceivedEvent, live: boolean): Outcome {
    const payload = readPayload(event.path, event.text);
    begin();
    const journalId = journal === null ? null : lastJournalId + 1;
    const outcome = applyEvent(event, payload, journalId, live);
    if (outcome === 'applied') {
      if (journal !== null && journalId !== null) {
        const { receivedAt, path, text } = event;
        journal.append({ id: journalId, receivedAt, path, text });
        lastJournalId = journalId;
      }
    }
    return outcome;
  }

  /** Applies the journal's entries that the index lacks, after a crash or for a new index. */
  function replay(live: boolean): void {
    if (journal === null) return;
    let events = 0;
    try {
      for (const entry of journal.entriesAfter(progress.get()?.journal_id ?? 0)) {
        if (!open) db.run('BEGIN IMMEDIATE');
        open = true;
        applyEvent(entry, readPayload(entry.path, entry.text), entry.id, live);
        // An entry that changes nothing now (it may have, before a fix of ours) is done with too.
        setJournalId.run(entry.id);
        events += 1;
        if (events % REPLAY_BATCH !== 0) continue;
        db.run('COMMIT');
        open = false;
      }
      if (open) db.run('COMMIT');
      open = false;
    } catch (error) {
      if (open) forgetOpen();
      throw error;
    }
    if (events > 0) log({ event: 'journal_replayed', events });
  }

  replay(false);

  return {
    /**
     * Takes one event. When this returns, the event is on disk.
     * @throws PayloadError where it can't be understood, UnknownParentError where another must come first; then nothing
     *   has changed
     */
    receive(event: ReceivedEvent): Outcome {
      const { path, text } = event;
      const digest = Bun.hash(text) as bigint;
      if (path === last.path && text.length === last.length && digest === last.digest) return 'repeated';
      try {
        const outcome = take(event, true);
        if (outcome === 'applied') {
          commit();
          last = { path, length: text.length, digest };
        } else rollback();
        return outcome;
      } catch (error) {
        rollback();
        throw error;
      }
    },

    /** For imports: events taken since the last {@link commit} become durable together. */
    take: (event: ReceivedEvent): Outcome => take(event, false),
    commit,
    rollback,

    /** What was taken of a recording, by the hash of how it begins. */
    imported: (source: string): Imported => imports.get(source),
    /** Kept with the next {@link commit}. */
    setImported(source: string, imported: Imported): void {
      begin();
      imports.set(source, imported);
    },

    tipHeight: (): number => chain.tip().height,
    chainId: (): number | null => kept,
    /** Null before the first block, unless the chain was set. */
    networkKind: (): Network['kind'] | null => (kept === null ? null : networkOf(kept).kind),
    /** Written between events, each by itself. */
    faucetRequests: faucetRequests(db),

    /** From now on it takes part in each change of the chain. */
    follow(one: ChainFollower): void {
      follower = one;
    },
    history: {
      tip: chain.tip,
      hashAt: chain.hashAt,
      branchOf: chain.branchOf,
      block: (indexBlockHash) => chain.stored(indexBlockHash, networkOf(kept ?? TESTNET_CHAIN_ID)),
    } satisfies ChainHistory,
    /** Null before the first block, unless it was set. */
    network: (): Network | null => (kept === null ? null : networkOf(kept)),
    hooks: hookTables,
    /**
     * Writes of others than the node, all of them or none. Between events: not while a transaction of events is open.
     * @param durability `synced`: on disk when this returns, whatever becomes of the machine
     */
    transaction<T>(write: () => T, durability: 'synced' | 'usual' = 'usual'): T {
      if (open) throw new Error('a transaction of events is open');
      const raised = journal !== null && durability === 'synced';
      if (raised) db.run('PRAGMA synchronous = FULL');
      try {
        return db.transaction(write).immediate();
      } finally {
        if (raised) db.run('PRAGMA synchronous = NORMAL');
      }
    },

    close(): void {
      rollback();
      for (const close of opened) close();
    },
  };
}

const REPLAY_BATCH = 200;
