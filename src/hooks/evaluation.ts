/**
 * The evaluation of hooks. Live ones stand together at the tip and are evaluated inside the transaction of each block;
 * one that was away catches up from its own cursor, block by block, until it can join them. A cursor is the truth of
 * what a hook has seen: whatever happens to the process or the index, nothing below it is told again and nothing above
 * it is left out.
 */
import type { Block } from '../chain/block.ts';
import type { Network } from '../chain/network.ts';
import { toHex } from '../codec/hex.ts';
import { isStorageError } from '../store/files/store-failure.ts';
import type { Cursor, HookProgress, HookRecord, Lane, Reason, ToldBlocks } from '../store/hooks/model.ts';
import type { HookStore } from '../store/hooks/store.ts';
import { type ChainChange, UnknownParentError } from '../store/ingest/chain-writer.ts';
import type { ChainFollower, ChainHistory } from '../store/ingest/ingest.ts';
import { type ActiveHook, activeHook, evaluationsLeft, isUsedUp } from './active-hook.ts';
import type { HookEnd } from './alerts.ts';
import { cancelBackfilled } from './cancel-backfilled.ts';
import type { HookCounters, HookTimers } from './counters.ts';
import { declarations } from './declarations.ts';
import type { HookLog } from './log-event.ts';
import { Matcher } from './matching.ts';
import { type MatchedBlock, payloadText } from './payload.ts';

export interface EvaluatorOptions {
  store: HookStore;
  history: ChainHistory;
  network: () => Network | null;
  counters: HookCounters;
  timers: HookTimers;
  log: HookLog;
  /** Unix milliseconds. */
  now: () => number;
  /** A lane has more to send; told after the commit. */
  queued: (hookId: number, lane: Lane) => void;
  /** Hooks don't stand at the tip, or a backfill has room for more. Told after the commit. */
  behind: () => void;
  /** A hook ended; told after the commit. */
  ended: (end: HookEnd) => void;
  /** Writes failed and succeed again: anything may be queued, and anything to catch up on. */
  recovered: () => void;
}

/** A block that leaves the chain, read only where somebody was told of it. */
interface Leaving {
  height: number;
  hash: Uint8Array;
  block: () => Block;
}

interface Step {
  /** Tip first. */
  leaving: readonly Leaving[];
  /** The highest block that was canonical before and is now. */
  forkHeight: number;
  /** Ascending. */
  joining: readonly Block[];
}

/** What a hook is told in one delivery. */
interface Told {
  hook: ActiveHook;
  apply: MatchedBlock[];
  rollback: MatchedBlock[];
}

/** Steps of several blocks of one delivery share what they told each hook. */
type AllTold = Map<number, Told>;

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export type Evaluator = ReturnType<typeof hookEvaluator>;

export function hookEvaluator(options: EvaluatorOptions) {
  const { store, history, network, counters, timers, log, now, queued, behind, ended, recovered } = options;
  const { records, deliveries, ledger, candidates } = store;
  const live = new Matcher();
  const hooks = new Map<number, ActiveHook>();
  let progress: HookProgress = records.progress();
  let loaded = false;
  /** Something was done since the last commit, here or in the tables. */
  let dirty = false;
  /** Told when the transaction is committed. */
  let touched: [hookId: number, lane: Lane][] = [];
  let hasWork = false;
  let ends: HookEnd[] = [];
  const count = { matches: 0, evaluated: 0, queued: 0, rollbacks: 0, interrupted: 0 };

  function load(): void {
    if (loaded) return;
    live.clear();
    hooks.clear();
    for (const record of records.live()) include(activeHook(record));
    progress = records.progress();
    loaded = true;
  }

  /** Comes before every change. */
  function begin(): void {
    load();
    dirty = true;
  }

  function include(hook: ActiveHook): void {
    hooks.set(hook.id, hook);
    live.set(hook.id, hook.conditions);
  }

  function exclude(id: number): void {
    hooks.delete(id);
    live.delete(id);
  }

  const touch = (hookId: number, lane: Lane) => {
    touched.push([hookId, lane]);
  };

  function toldTo(all: AllTold, hook: ActiveHook): Told {
    const known = all.get(hook.id);
    if (known !== undefined) return known;
    const told: Told = { hook, apply: [], rollback: [] };
    all.set(hook.id, told);
    return told;
  }

  /** Blocks of a branch that left the chain, each read once. */
  function leavingOf(hashes: readonly Uint8Array[], forkHeight: number): Leaving[] {
    return hashes
      .map((hash, index): Leaving => {
        let read: Block | undefined;
        return {
          height: forkHeight + 1 + index,
          hash,
          block: () => {
            read ??= history.block(hash);
            return read;
          },
        };
      })
      .reverse();
  }

  function takeBack(told: Told, leaving: Leaving, places: readonly number[], step: Step): void {
    const branch = () => step.leaving.filter(({ height }) => height <= leaving.height).map(({ block }) => block());
    const findFunction = declarations(candidates, step.forkHeight, branch);
    told.rollback.push({ block: leaving.block(), places, findFunction });
  }

  function expire(record: HookRecord, hook: ActiveHook): void {
    records.leaveLive(record.id);
    records.setStatus(record.id, 'expired');
    exclude(record.id);
    log({ event: 'hook_expired', uuid: hook.uuid, name: hook.name });
    const reason = 'it has used up what its options allow';
    ends.push({
      type: 'chainhook.expired',
      consumer: record.consumer,
      uuid: hook.uuid,
      name: hook.name,
      reason,
      at: now(),
    });
  }

  function interrupt(record: HookRecord, reason: string, stuckDelivery: number | null): void {
    begin();
    if (record.stage !== 'idle') records.leaveLive(record.id);
    records.setStatus(record.id, 'interrupted', reason, stuckDelivery);
    exclude(record.id);
    count.interrupted += 1;
    const { name } = activeHook(record);
    log({ event: 'hook_interrupted', uuid: record.uuid, name, reason });
    ends.push({ type: 'chainhook.interrupted', consumer: record.consumer, uuid: record.uuid, name, reason, at: now() });
  }

  const toldBlocks = ({ apply, rollback }: Pick<Told, 'apply' | 'rollback'>): ToldBlocks => {
    const summary = ({ block, places }: MatchedBlock) => ({
      height: block.height,
      index_block_hash: toHex(block.indexBlockHash),
      tx_count: places.length,
    });
    return { apply: apply.map(summary), rollback: rollback.map(summary) };
  };

  function bodyOf({ hook, apply, rollback }: Told): string {
    const of = network();
    if (of === null) throw new Error('blocks came before the network was known');
    return payloadText(hook, of, { apply, rollback });
  }

  /** @param before where the hook stood before these blocks */
  function queue(told: Told, reason: Reason, before: Cursor): void {
    const { hook, apply, rollback } = told;
    const sequence = records.nextSequence(hook.id);
    let body: string | null = null;
    let problem: string | null = null;
    try {
      body = bodyOf(told);
    } catch (error) {
      // What can't be read now may be read later: the blocks come again.
      if (isStorageError(error)) throw error;
      log({ event: 'hook_payload_failed', uuid: hook.uuid, cause: error });
      problem = error instanceof Error ? error.message : String(error);
    }
    const id = deliveries.add(
      {
        webhookId: webhookId(`${hook.uuid}/${sequence}`, body ?? ''),
        hookId: hook.id,
        lane: 'live',
        reason,
        sequence,
        blocks: toldBlocks(told),
        body,
        problem,
        backfillId: null,
      },
      now(),
    );
    if (body === null) {
      // It stands where it stood: once mended, it is enabled again and told of the same blocks.
      const record = records.get(hook.id);
      if (record !== undefined) interrupt(record, `a payload could not be made: ${problem}`, null);
      records.setCursor(hook.id, before);
      deliveries.setState(id, 'dead');
      return;
    }
    for (const { block } of rollback) {
      ledger.remove(block.indexBlockHash, hook.id);
      if (cancelBackfilled(store, hook.id, block)) hasWork = true;
    }
    for (const { block, places } of apply) {
      ledger.add(block.indexBlockHash, hook.id, block.height, block.burnBlockHeight, places);
    }
    count.queued += 1;
    if (rollback.length > 0) count.rollbacks += 1;
    touch(hook.id, 'live');
  }

  function occurred(all: AllTold, hook: ActiveHook, block: Block, places: readonly number[]): void {
    const findFunction = declarations(candidates, block.height);
    toldTo(all, hook).apply.push({ block, places, findFunction });
    records.occurred(hook.id, now(), block.height);
    count.matches += 1;
  }

  /** Who is told that a block left the chain: live hooks, and those that expired after they were told of it. */
  function audience(hookId: number): ActiveHook | undefined {
    const known = hooks.get(hookId);
    if (known !== undefined) return known;
    const record = records.get(hookId);
    return record?.status === 'expired' && record.stage === 'idle' ? activeHook(record) : undefined;
  }

  /** Live hooks move on together. */
  function evaluateLive(step: Step, reason: Reason): void {
    const started = performance.now();
    const before = progress.cursor;
    const all: AllTold = new Map();
    for (const leaving of step.leaving) {
      for (const { hookId, places } of ledger.ofBlock(leaving.hash)) {
        const hook = audience(hookId);
        if (hook !== undefined) takeBack(toldTo(all, hook), leaving, places, step);
      }
    }
    for (const block of step.joining) {
      const matches = live.match(block);
      progress = {
        evaluated: progress.evaluated + 1,
        cursor: { height: block.height, hash: block.indexBlockHash },
        evaluatedAt: now(),
      };
      records.setProgress(progress);
      count.evaluated += 1;
      const usedUp = new Set(records.usedUp(progress.evaluated));
      for (const [id, places] of matches) {
        const hook = hooks.get(id);
        if (hook === undefined) continue;
        occurred(all, hook, block, places);
        if (hook.options.expire_after_occurrences) usedUp.add(id);
      }
      for (const id of usedUp) {
        const [hook, record] = [hooks.get(id), records.get(id)];
        if (hook !== undefined && record !== undefined && isUsedUp(record, hook.options)) expire(record, hook);
      }
    }
    for (const told of all.values()) queue(told, reason, before);
    timers.evaluated(performance.now() - started);
  }

  /** What is next for hooks that stand at a cursor; null at the tip. */
  function nextStep(cursor: Cursor): Step | null {
    const tip = history.tip();
    const { forkHeight, hashes } = branchOf(cursor, tip.height);
    if (hashes.length === 0 && forkHeight >= tip.height) return null;
    // A fork wins with the block that is higher than all it replaces: the one that told of it live.
    const last = hashes.length === 0 ? forkHeight + 1 : Math.min(tip.height, cursor.height + 1);
    const joining: Block[] = [];
    for (let height = forkHeight + 1; height <= last; height++) {
      const hash = history.hashAt(height);
      if (hash === undefined) throw new Error(`the chain has no block ${height}`);
      joining.push(history.block(hash));
    }
    return { leaving: leavingOf(hashes, forkHeight), forkHeight, joining };
  }

  function branchOf({ height, hash }: Cursor, tipHeight: number): { forkHeight: number; hashes: Uint8Array[] } {
    if (height === 0) return { forkHeight: 0, hashes: [] };
    try {
      return history.branchOf(hash);
    } catch (error) {
      if (!(error instanceof UnknownParentError)) throw error;
      log({ event: 'hook_cursor_lost', height });
      return { forkHeight: Math.min(height, tipHeight), hashes: [] };
    }
  }

  const isTip = ({ height, hash }: Cursor): boolean => {
    const tip = history.tip();
    return tip.height === 0 ? height === 0 : sameBytes(hash, tip.indexBlockHash);
  };

  const tipCursor = (): Cursor => {
    const tip = history.tip();
    return tip.height === 0 ? { height: 0, hash: new Uint8Array(0) } : { height: tip.height, hash: tip.indexBlockHash };
  };

  /**
   * Moves the live hooks one step; call it in a transaction.
   * @returns whether they stand at the tip
   */
  function advanceLive(): boolean {
    begin();
    if (isTip(progress.cursor)) return true;
    const step = nextStep(progress.cursor);
    if (step === null || (live.hooks === 0 && step.leaving.length === 0)) {
      // Nobody is there to see what lies between.
      progress = { ...progress, cursor: tipCursor() };
      records.setProgress(progress);
      return true;
    }
    evaluateLive(step, 'catch_up');
    return false;
  }

  /** What a hook was told of and is canonical no more, though it wasn't there when it left. */
  function orphansOf(hook: ActiveHook, all: AllTold): void {
    for (const { indexBlockHash, height, places } of ledger.orphansOf(hook.id)) {
      const { forkHeight, hashes } = history.branchOf(indexBlockHash);
      const leaving = leavingOf(hashes, forkHeight);
      const own = leaving.find((one) => one.height === height);
      if (own !== undefined) takeBack(toldTo(all, hook), own, places, { leaving, forkHeight, joining: [] });
    }
  }

  function takeBackOrphans(hook: ActiveHook, before: Cursor): void {
    const all: AllTold = new Map();
    orphansOf(hook, all);
    for (const told of all.values()) queue(told, 'catch_up', before);
  }

  function join(record: HookRecord, hook: ActiveHook): void {
    const left = evaluationsLeft(record, hook.options);
    records.goLive(record.id, left === null ? null : progress.evaluated + left);
    include(hook);
  }

  /**
   * Moves a hook that catches up one step; call it in a transaction, with the live ones at the tip.
   * @returns whether there is nothing more to do for it
   */
  function advanceOne(id: number): boolean {
    begin();
    const record = records.get(id);
    if (record === undefined || record.stage !== 'catching_up') return true;
    const hook = activeHook(record);
    const step = nextStep(record.cursor);
    if (step === null) {
      takeBackOrphans(hook, record.cursor);
      // The payload may have failed.
      if (records.get(id)?.stage === 'catching_up') join(record, hook);
      return true;
    }
    const all: AllTold = new Map();
    orphansOf(hook, all);
    const matcher = new Matcher();
    matcher.set(id, hook.conditions);
    let done = false;
    for (const block of step.joining) {
      const places = matcher.match(block).get(id);
      records.advance(id, { height: block.height, hash: block.indexBlockHash }, now());
      if (places !== undefined) occurred(all, hook, block, places);
      const after = records.get(id);
      if (after === undefined || !isUsedUp(after, hook.options)) continue;
      expire(after, hook);
      done = true;
      break;
    }
    for (const told of all.values()) queue(told, 'catch_up', record.cursor);
    return done || records.get(id)?.stage !== 'catching_up';
  }

  const follower: ChainFollower = {
    changed({ reverted, applied }: ChainChange): void {
      const [first] = applied;
      if (first === undefined) return;
      begin();
      const parent = reverted[0]?.indexBlockHash ?? first.parentIndexBlockHash;
      const { cursor } = progress;
      const atTip = cursor.height === 0 ? first.height === 1 && reverted.length === 0 : sameBytes(cursor.hash, parent);
      if (!atTip) {
        hasWork = true;
        return;
      }
      const leaving = reverted.map(
        (block): Leaving => ({
          height: block.height,
          hash: block.indexBlockHash,
          block: () => block,
        }),
      );
      evaluateLive({ leaving, forkHeight: first.height - 1, joining: applied }, 'live');
    },
    committed(): void {
      dirty = false;
      counters.evaluatedBlocks += count.evaluated;
      counters.matches += count.matches;
      counters.queued += count.queued;
      counters.rollbacks += count.rollbacks;
      counters.interrupted += count.interrupted;
      forgetCounts();
      for (const [hookId, lane] of touched.splice(0)) queued(hookId, lane);
      if (hasWork) behind();
      hasWork = false;
      for (const end of ends.splice(0)) ended(end);
    },
    undone(): void {
      touched = [];
      ends = [];
      hasWork = false;
      // Most of what is undone is an event that was known already, and no change of ours.
      if (dirty) loaded = false;
      dirty = false;
      forgetCounts();
    },
    recovered,
  };

  function forgetCounts(): void {
    Object.assign(count, { matches: 0, evaluated: 0, queued: 0, rollbacks: 0, interrupted: 0 });
  }

  return {
    follower,
    advanceLive,
    advanceOne,
    interrupt,

    /** For a test or an on-demand evaluation: the lane has something to send once the transaction is committed. */
    touch,
    countQueued: () => {
      count.queued += 1;
    },

    /** The filters or limits of a hook changed; call it in a transaction, after its definition was stored. */
    redefined(record: HookRecord): void {
      begin();
      if (record.stage !== 'live') return;
      include(activeHook(record));
    },

    /** `hook_progress.evaluated` at which a live hook is used up. */
    expiresAt(record: HookRecord, hook: ActiveHook): number | null {
      load();
      const left = evaluationsLeft(record, hook.options);
      return record.stage !== 'live' || left === null ? null : progress.evaluated + left;
    },

    /** The hook takes part from the next block on, after it was told what left the chain meanwhile. */
    enableAtTip(record: HookRecord): void {
      begin();
      const hook = activeHook(record);
      takeBackOrphans(hook, record.cursor);
      const after = records.get(record.id);
      if (after === undefined || after.status === 'interrupted') return;
      records.setCursor(record.id, tipCursor());
      if (isTip(progress.cursor)) join(after, hook);
      else enableFromCursor(record);
    },

    /** The hook catches up from its cursor on. */
    enableFromCursor,

    disable(record: HookRecord): void {
      begin();
      if (record.stage !== 'idle') records.leaveLive(record.id);
      exclude(record.id);
    },
    tipCursor,
    toldBlocks,
  };

  function enableFromCursor(record: HookRecord): void {
    records.catchUp(record.id);
    hasWork = true;
  }
}

/**
 * The id of a delivery: the same for the same delivery of a hook, so that one that is made anew has it again, and never
 * the same for another body.
 */
export const webhookId = (of: string, body: string): string =>
  `evt_${new Bun.CryptoHasher('sha256').update(`${of}\n${body}`).digest('hex').slice(0, 32)}`;
