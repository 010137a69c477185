/** What the hooks are notified of at one step: one delivery for each, however many blocks the step has. */
import type { Block } from '../../chain/block.ts';
import { toHex } from '../../codec/hex.ts';
import type { HookCandidates } from '../../store/hooks/candidates.ts';
import type { NotifiedBlocks } from '../../store/hooks/model.ts';
import type { ActiveHook } from '../active-hook.ts';
import type { MatchedBlock } from '../payload.ts';
import { declarations } from './declarations.ts';
import type { Leaving, Step } from './steps.ts';

export interface Notification {
  hook: ActiveHook;
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

export class Notifications {
  readonly #byHook = new Map<number, Notification>();

  constructor(private readonly candidates: HookCandidates) {}

  /** A block matched. @param txIndexes indexes of the transactions that did */
  apply(hook: ActiveHook, block: Block, txIndexes: readonly number[]): void {
    const findFunction = declarations(this.candidates, block.height);
    this.#of(hook).apply.push({ block, txIndexes, findFunction });
  }

  /** A block that the hook was notified of leaves the chain. @param txIndexes as it was notified of them */
  rollback(hook: ActiveHook, { height, block }: Leaving, txIndexes: readonly number[], step: Step): void {
    const branch = () => step.leaving.filter((one) => one.height <= height).map((one) => one.block());
    const findFunction = declarations(this.candidates, step.forkHeight, branch);
    this.#of(hook).rollback.push({ block: block(), txIndexes, findFunction });
  }

  [Symbol.iterator](): Iterator<Notification> {
    return this.#byHook.values();
  }

  #of(hook: ActiveHook): Notification {
    const known = this.#byHook.get(hook.id);
    if (known !== undefined) return known;
    const made: Notification = { hook, apply: [], rollback: [] };
    this.#byHook.set(hook.id, made);
    return made;
  }
}
