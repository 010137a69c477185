/** What the hooks are notified of at one step: one delivery for each, however many blocks the step has. */
import type { Block } from '../../chain/block.ts';
import { toHex } from '../../codec/hex.ts';
import type { NotifiedBlocks } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { ActiveHook } from '../active-hook.ts';
import type { FindFunction } from '../operations.ts';
import type { MatchedBlock } from '../payload.ts';
import { declarations } from './declarations.ts';
import type { Leaving, Step } from './steps.ts';

export interface Notification {
  hook: ActiveHook;
  /** Number of the delivery in the hook's live lane. */
  sequence: number;
  /** Ascending. */
  apply: MatchedBlock[];
  /** Tip first. */
  rollback: MatchedBlock[];
}

/** The blocks of a notification, as the delivery log lists them. */
export function notifiedBlocks({ apply, rollback }: Pick<Notification, 'apply' | 'rollback'>): NotifiedBlocks {
  const summary = ({ block, txIndexes }: MatchedBlock) => ({
    height: block.height,
    index_block_hash: toHex(block.indexBlockHash),
    tx_count: txIndexes.length,
  });
  return { apply: apply.map(summary), rollback: rollback.map(summary) };
}

/** Gathers what hooks are notified of. Every method is called in a transaction. */
export class Notifications {
  readonly #byHook = new Map<number, Notification>();
  /** How the calls of a block find functions, for all hooks that match it. */
  readonly #findFunctions = new Map<Block, FindFunction>();

  constructor(private readonly store: Pick<HookStore, 'candidates' | 'records'>) {}

  /** A block matched, which counts. @param txIndexes indexes of the transactions that did @param now Unix milliseconds */
  apply(hook: ActiveHook, block: Block, txIndexes: readonly number[], now: number): void {
    const { candidates, records } = this.store;
    const findFunction = this.#findFunction(block, () => declarations(candidates, block.height));
    const matched = { block, txIndexes, findFunction };
    const known = this.#byHook.get(hook.id);
    if (known === undefined) {
      this.#add({ hook, sequence: records.occurredNext(hook.id, now, block.height), apply: [matched], rollback: [] });
      return;
    }
    records.occurred(hook.id, now, block.height);
    known.apply.push(matched);
  }

  /** A block that the hook was notified of leaves the chain. @param txIndexes as it was notified of them */
  rollback(hook: ActiveHook, leaving: Leaving, txIndexes: readonly number[], step: Step): void {
    const { candidates, records } = this.store;
    const block = leaving.block();
    const branch = () => step.leaving.filter((one) => one.height <= leaving.height).map((one) => one.block());
    const findFunction = this.#findFunction(block, () => declarations(candidates, step.forkHeight, branch));
    const matched = { block, txIndexes, findFunction };
    const known = this.#byHook.get(hook.id);
    if (known === undefined) {
      this.#add({ hook, sequence: records.nextSequence(hook.id), apply: [], rollback: [matched] });
      return;
    }
    known.rollback.push(matched);
  }

  [Symbol.iterator](): Iterator<Notification> {
    return this.#byHook.values();
  }

  #add(notification: Notification): void {
    this.#byHook.set(notification.hook.id, notification);
  }

  #findFunction(block: Block, make: () => FindFunction): FindFunction {
    const findFunction = this.#findFunctions.get(block) ?? make();
    this.#findFunctions.set(block, findFunction);
    return findFunction;
  }
}
