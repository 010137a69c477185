/**
 * The notifications of a step: one delivery per hook, however many blocks the step has. Each has its body and id, its row in
 * the outbox, and its rows in the ledger of blocks that the hook was notified of.
 */

import type { Block } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { toHex } from '../../codec/hex.ts';
import { isStorageError } from '../../store/files/connection.ts';
import type { Cursor, DeliveryBody, HookRecord, NotifiedBlocks } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { QueueName, Reason } from '../../store/rows/enums.ts';
import type { ActiveHook } from '../definition/definition.ts';
import type { HookEvent } from '../reporting.ts';
import { declarations, type FindFunction } from './operations.ts';
import { type MatchedBlock, type PayloadTexts, payloadText, payloadTexts, webhookId } from './payload.ts';
import type { OrphanedBlock, Step } from './steps.ts';

export type Counted = 'matches' | 'evaluatedBlocks' | 'rollbacks' | 'interrupted';

/** The part of the engine that notifications use. Its listeners are notified after the commit. */
export interface EngineTransaction {
  readonly store: HookStore;
  readonly network: () => Network | null;
  /** Unix milliseconds. */
  now(): number;
  count(name: Counted): void;
  logEvent(event: HookEvent): void;
  /** A queue has new deliveries. */
  queued(hookId: number, queue: QueueName): void;
  /** A hook has to catch up, or a backfill may queue more. */
  wake(): void;
  interrupt(record: HookRecord, reason: string, stuckDelivery: number | null): void;
}

interface Notification {
  hook: ActiveHook;
  /** Number of the delivery in the hook's live queue. */
  sequence: number;
  /** Ascending. */
  apply: MatchedBlock[];
  /** Tip first. */
  rollback: MatchedBlock[];
}

/** The body of a delivery, or the reason why it can't be made. */
type Body = { body: DeliveryBody; problem: null } | { body: null; problem: string };

/** The blocks of a notification, as the delivery log lists them. */
function notifiedBlocks({ apply, rollback }: Pick<Notification, 'apply' | 'rollback'>): NotifiedBlocks {
  const summary = ({ block, txIndexes }: MatchedBlock) => ({
    height: block.height,
    index_block_hash: toHex(block.indexBlockHash),
    tx_count: txIndexes.length,
  });
  return { apply: apply.map(summary), rollback: rollback.map(summary) };
}

/** Collects the notifications of a step, and queues them. Every method is called in a transaction. */
export class Notifications {
  readonly #byHook = new Map<number, Notification>();
  /** Finds the functions that a block's transactions call; shared by all hooks that match the block. */
  readonly #findFunctions = new Map<Block, FindFunction>();

  constructor(private readonly engine: EngineTransaction) {}

  /** The hook matches a block, which counts as an occurrence. @param txIndexes indexes of the matching transactions */
  apply(hook: ActiveHook, block: Block, txIndexes: readonly number[]): void {
    const { candidates, records } = this.engine.store;
    const now = this.engine.now();
    const findFunction = this.#findFunction(block, () => declarations(candidates, block.height));
    const matched = { block, txIndexes, findFunction };
    const notification = this.#byHook.get(hook.id);
    if (notification === undefined) {
      const sequence = records.occurredNext(hook.id, now, block.height);
      this.#byHook.set(hook.id, { hook, sequence, apply: [matched], rollback: [] });
    } else {
      records.occurred(hook.id, now, block.height);
      notification.apply.push(matched);
    }
    this.engine.count('matches');
  }

  /** A block that the hook was notified of left the chain. @param txIndexes the transactions of that notification */
  rollback(hook: ActiveHook, leaving: OrphanedBlock, txIndexes: readonly number[], step: Step): void {
    const { candidates, records } = this.engine.store;
    const block = leaving.block();
    const branch = () =>
      step.leaving.filter((orphan) => orphan.height <= leaving.height).map((orphan) => orphan.block());
    const findFunction = this.#findFunction(block, () => declarations(candidates, step.forkHeight, branch));
    const matched = { block, txIndexes, findFunction };
    const notification = this.#byHook.get(hook.id);
    if (notification !== undefined) {
      notification.rollback.push(matched);
      return;
    }
    const sequence = records.nextSequence(hook.id);
    this.#byHook.set(hook.id, { hook, sequence, apply: [], rollback: [matched] });
  }

  #findFunction(block: Block, make: () => FindFunction): FindFunction {
    const findFunction = this.#findFunctions.get(block) ?? make();
    this.#findFunctions.set(block, findFunction);
    return findFunction;
  }

  /**
   * Queues a delivery in the live queue of each hook, and adds its blocks to the ledger.
   * @param cursor position of the hooks before these blocks
   */
  queue(reason: Reason, cursor: Cursor): void {
    if (this.#byHook.size === 0) return;
    const texts = payloadTexts(this.engine.network());
    for (const notification of this.#byHook.values()) this.#queueOne(notification, texts, reason, cursor);
  }

  #queueOne(notification: Notification, texts: PayloadTexts, reason: Reason, cursor: Cursor): void {
    const { engine } = this;
    const { hook, sequence, rollback } = notification;
    const { body, problem } = this.#bodyOf(notification, texts);
    const id = engine.store.deliveries.add(
      {
        webhookId: webhookId(engine.store.logIdentity(), `${hook.uuid}/${sequence}`, body ?? ''),
        hookId: hook.id,
        queue: 'live',
        reason,
        sequence,
        blocks: notifiedBlocks(notification),
        body,
        problem,
        backfillId: null,
      },
      engine.now(),
    );
    if (problem !== null) {
      this.#stopAt(cursor, hook.id, id, problem);
      return;
    }
    this.#addToLedger(notification);
    if (rollback.length > 0) engine.count('rollbacks');
    engine.queued(hook.id, 'live');
  }

  /** @throws the store's error if a part can't be read now; the blocks are processed again then */
  #bodyOf(notification: Notification, texts: PayloadTexts): Body {
    const { hook } = notification;
    try {
      return { body: texts(hook, notification), problem: null };
    } catch (error) {
      if (isStorageError(error)) throw error;
      this.engine.logEvent({ event: 'unexpected_error', part: 'chainhook', uuid: hook.uuid, cause: error });
      return { body: null, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Interrupts the hook at its former cursor. Once it is enabled and its body can be made, it is notified of the same blocks. */
  #stopAt(cursor: Cursor, hookId: number, deliveryId: number, problem: string): void {
    const { records, deliveries } = this.engine.store;
    const record = records.get(hookId);
    if (record !== undefined) this.engine.interrupt(record, `a payload could not be made: ${problem}`, null);
    records.setCursor(hookId, cursor);
    deliveries.setState(deliveryId, 'dead');
  }

  /** Adds the notified blocks to the ledger, so that they can be rolled back. */
  #addToLedger({ hook, apply, rollback }: Notification): void {
    const { ledger } = this.engine.store;
    for (const { block } of rollback) {
      ledger.remove(block.indexBlockHash, hook.id);
      this.#cancelBackfilled(hook.id, block);
    }
    for (const { block, txIndexes } of apply) {
      ledger.add(block.indexBlockHash, hook.id, block.height, block.burnBlockHeight, txIndexes);
    }
  }

  /**
   * Cancels backfill deliveries of a block whose rollback is being queued. Queues don't wait for each other, and nothing would
   * roll back a delivery that arrives after the rollback. Deliveries that are being sent stay cancelled after any response.
   */
  #cancelBackfilled(hookId: number, block: Block): void {
    const { deliveries, backfills } = this.engine.store;
    const open = deliveries.openBackfilled(hookId, block.height, toHex(block.indexBlockHash));
    for (const { id, queue, backfillId } of open) {
      deliveries.setState(id, 'cancelled');
      // Redeliveries were counted before.
      if (queue === 'backfill' && backfillId !== null) backfills.count(backfillId, { delivered: 0, dead: 1 });
    }
    // The backfill may queue more now.
    if (open.length > 0) this.engine.wake();
  }
}

/** A requested delivery: one block that a hook matches, in a separate queue. */
interface RequestedDelivery {
  queue: 'backfill' | 'evaluate';
  /** Distinguishes the delivery from the hook's others; part of its id ({@link webhookId}). */
  request: string;
  matched: MatchedBlock;
  /** Row id of the delivery's backfill; null without one. */
  backfillId: number | null;
}

/** Queues a requested delivery; called in a transaction. */
export function queueRequested(
  engine: EngineTransaction,
  hook: ActiveHook,
  { queue, request, matched, backfillId }: RequestedDelivery,
): void {
  const event = { apply: [matched], rollback: [] };
  const body = payloadText(hook, engine.network(), event);
  engine.store.deliveries.add(
    {
      webhookId: webhookId(engine.store.logIdentity(), `${hook.uuid}/${request}`, body),
      hookId: hook.id,
      queue,
      reason: queue,
      sequence: null,
      blocks: notifiedBlocks(event),
      body,
      problem: null,
      backfillId,
    },
    engine.now(),
  );
  engine.queued(hook.id, queue);
}
