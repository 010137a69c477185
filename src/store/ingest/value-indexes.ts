/**
 * Indexes of decoded values: adds those that the operator configured, fills them with the entries of earlier blocks, and
 * removes others. New blocks write their entries with their effects (effects/value-index-writer.ts).
 */

import type { Database } from 'bun:sqlite';
import type { Clock } from '../../base/clock.ts';
import type { UnexpectedEvent } from '../../base/log-events.ts';
import { type Service, startLoop } from '../../base/service.ts';
import { StoreUnavailableError } from '../../base/system-errors.ts';
import { positionsOf } from '../../chain/position.ts';
import { entryWriter, indexedItems, type LogOrCall } from '../effects/value-index-writer.ts';
import { isWhole, type ValueIndex, type ValueIndexChoice } from '../model/contract.ts';
import { valueIndexes } from '../queries/contracts/value-search.ts';
import { storedSubject } from '../rows/enums.ts';
import { query } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { valueIndexesTable } from '../rows/tables.ts';
import { applyBatches, turnOrFailure } from './commands.ts';

const isSame = (a: ValueIndexChoice, b: ValueIndexChoice): boolean =>
  a.subject === b.subject && a.contract === b.contract && a.scope === b.scope;

/**
 * Stores the indexes that the operator configured. A new index gets the entries of new blocks. Batches add the entries of
 * earlier blocks, and remove the entries of indexes that are no longer configured.
 * @param write runs its argument in a transaction; not called if nothing changes
 */
export function chooseValueIndexes(
  db: Database,
  choices: readonly ValueIndexChoice[],
  write: (change: () => void) => void,
): void {
  const present = valueIndexes(db)().filter(({ wanted }) => wanted);
  const unused = present.filter((index) => !choices.some((choice) => isSame(choice, index)));
  const added = choices.filter((choice) => !present.some((index) => isSame(choice, index)));
  if (unused.length === 0 && added.length === 0) return;
  const leave = query<null, [number]>`UPDATE value_indexes SET wanted = 0 WHERE id = ?1`.prepared(db);
  const { add } = table(db, valueIndexesTable);
  write(() => {
    const tip = db.query<{ tip: number | null }, []>('SELECT max(height) AS tip FROM blocks').get()?.tip ?? 0;
    for (const { id } of unused) leave.run(id);
    for (const { subject, contract, scope } of added) {
      const from_position = positionsOf(tip + 1).first;
      const row = { contract, scope, wanted: 1, from_position, from_event: 0 };
      add({ ...row, subject: storedSubject.numberOf(subject) });
    }
  });
}

/** Outcome of a batch: the index that it worked on, and whether the index is now filled or removed. */
interface ValueIndexBatch {
  index: ValueIndex;
  ended: boolean;
}

/** Maximum logs, calls or entries of a batch. */
const BATCH_ROWS = 50;
/** Decoded bytes after which a batch ends. */
const BATCH_BYTES = 50_000;

/**
 * Does the work on the indexes, one small batch for each call, in the open transaction.
 * @param batchRows maximum logs, calls or entries of a batch
 * @returns a function that returns null if no work is left
 */
export function valueIndexBatches(db: Database, batchRows = BATCH_ROWS): () => ValueIndexBatch | null {
  const all = valueIndexes(db);
  const older = indexedItems(db, '<', batchRows);
  const write = entryWriter(db);
  const moveTo = query<null, [number, number, number]>`
    UPDATE value_indexes SET from_position = ?2, from_event = ?3 WHERE id = ?1`.prepared(db);
  const removeEntries = query<null, [number, number]>`
    DELETE FROM value_index_entries WHERE (index_id, path, value, position, event_index) IN
      (SELECT * FROM value_index_entries WHERE index_id = ?1 LIMIT ?2)`.prepared(db);
  const indexes = table(db, valueIndexesTable);

  /** @returns whether the index is removed */
  function shrink({ id }: ValueIndex): boolean {
    if (removeEntries.run(id, batchRows).changes === batchRows) return false;
    indexes.remove({ id });
    return true;
  }

  /** @returns whether the index is complete */
  function fill(index: ValueIndex): boolean {
    // Reads everything before the first write: a statement must not continue while rows of its transaction change.
    const items: LogOrCall[] = [];
    let bytes = 0;
    for (const item of older(index)) {
      items.push(item);
      bytes += item.bytes;
      if (bytes >= BATCH_BYTES) break;
    }
    for (const { position, fields } of items) write(1, index, position, fields());
    const last = items.at(-1);
    const isEnd = last === undefined || (items.length < batchRows && bytes < BATCH_BYTES);
    const from = isEnd ? { position: 0, eventIndex: 0 } : last.position;
    moveTo.run(index.id, from.position, from.eventIndex);
    return isEnd;
  }

  return () => {
    const index = all().find((candidate) => !candidate.wanted || !isWhole(candidate));
    if (index === undefined) return null;
    return { index, ended: index.wanted ? fill(index) : shrink(index) };
  };
}

interface ValueIndexName {
  of: ValueIndex['subject'];
  contract: string;
  /** Null if all fields are indexed. */
  field: string | null;
}

export type ValueIndexEvent =
  | ({ event: 'value_index_changed'; state: 'complete' | 'removed' } & ValueIndexName)
  | UnexpectedEvent;

/** Writes to a local table in the writer's queue, all or nothing. @throws errors of `change`, StoreUnavailableError */
export type LocalWrite = <T>(change: () => T) => Promise<T>;

interface ValueIndexingOptions {
  write: LocalWrite;
  batch: () => ValueIndexBatch | null;
  clock: Clock;
  log: (event: ValueIndexEvent) => void;
}

/** Milliseconds until a retry if the database was unavailable. */
const RETRY_MS = 1_000;

const toName = ({ subject, contract, scope }: ValueIndex): ValueIndexName => ({
  of: subject,
  contract,
  field: scope === '' ? null : scope,
});

/** Starts the work on the indexes, in turns between the node's events. @returns a service that stops after the present turn */
export function startValueIndexing({ write, batch, clock, log }: ValueIndexingOptions): Service {
  /** @returns whether no work is left */
  async function turn(): Promise<boolean> {
    /** Indexes that the turn filled or removed, which are reported after the commit. */
    const ended: ValueIndex[] = [];
    const applyBatch = (): boolean => {
      const applied = batch();
      if (applied?.ended === true) ended.push(applied.index);
      return applied === null;
    };
    const done = await turnOrFailure(
      () => write(() => applyBatches(applyBatch, clock).done),
      async (_, cause) => {
        ended.length = 0;
        log({ event: 'unexpected_error', part: 'value_index', cause });
      },
    );
    for (const index of ended) {
      log({ event: 'value_index_changed', state: index.wanted ? 'complete' : 'removed', ...toName(index) });
    }
    return done;
  }

  /** Works until all indexes are filled and the others removed. More work comes only with a restart and other settings. */
  async function work(signal: AbortSignal): Promise<null> {
    while (!signal.aborted && !(await turn())) await clock.turn();
    return null;
  }

  return startLoop({
    clock,
    everyMs: RETRY_MS,
    firstMs: 0,
    turn: work,
    // An index that can't be built must not stop the server, whatever the error is.
    passes: (error) => error instanceof Error,
    failed(cause) {
      if (!(cause instanceof StoreUnavailableError)) log({ event: 'unexpected_error', part: 'value_index', cause });
    },
  });
}
