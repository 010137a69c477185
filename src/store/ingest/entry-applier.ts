/**
 * Applies entries, and the changes that become entries, in the open transaction of the index. The writer (`writer.ts`) opens
 * the transaction, appends the entries to the journal and commits them.
 */
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { PayloadError, readEntry, readReceived } from '../../chain/payload-reader.ts';
import { isStorageError } from '../files/connection.ts';
import type { Journal } from '../files/journal.ts';
import { type Entry, type Head, nextChain, sameChain } from '../log/entry.ts';
import { COMMAND_PATH, type EntryCommand, type EntryCommands, type SentCommand } from './commands.ts';
import type { PreparedEntry, ReceivedEvent } from './event.ts';
import type { Applied, EventRouter } from './event-router.ts';
import { UnknownParentError } from './known-blocks.ts';

/** Thrown if an entry of the log doesn't follow the host's last entry: its number or chain value differs. */
export class ForeignEntryError extends Error {
  override readonly name = 'ForeignEntryError';
  /** @param last the host's last entry */
  constructor(
    readonly id: number,
    readonly last: number,
  ) {
    super(`entry ${id} of the log does not follow entry ${last} of this host`);
  }
}

/** Thrown if this program can't apply an entry that another host applied. */
export class InapplicableEntryError extends OperatorError {
  constructor(
    readonly id: number,
    options: { cause: Error },
  ) {
    const { cause } = options;
    const isForOperator = cause instanceof OperatorError;
    super(
      `Entry ${id} of the log can't be applied: ${isForOperator ? cause.message.replace(/\.$/, '') : cause.message}.`,
      isForOperator ? cause.remedy : 'Run the same Stackside version as the newest host, with the same chain settings.',
      options,
    );
  }
}

/** Returns whether the entry itself is the reason for the failure, not a file that can't be written or read. */
const isCausedByEntry = ({ path }: Entry, cause: unknown): cause is Error =>
  cause instanceof PayloadError ||
  cause instanceof UnknownParentError ||
  // Another host has applied the command, so this host can't reject it.
  (path === COMMAND_PATH && cause instanceof Error && !isStorageError(cause));

/**
 * Number of newest entries that may be repeated by an event that changes nothing in the index: several nodes may post it,
 * each of them twice.
 */
const LOOK_BACK = 1_000;

/** An event or a command of this host, which becomes the next entry; or the next entry of a shared or restored log. */
export type Change =
  /**
   * `isShared`: whether other hosts append to the log, too. Without them, the node repeats an event before it sends another
   * one.
   */
  | { event: ReceivedEvent; isShared?: boolean }
  /** `receivedAt` in Unix microseconds. */
  | { command: SentCommand; receivedAt: number; clock: Pick<Clock, 'monotonic'> }
  | { entry: Entry };

/** A change that is applied in the open transaction but not yet appended. */
interface AppliedChange {
  /** The result of the command's function; for a batched command, whether its work is done. */
  result: unknown;
  /** Events of commands that become entries before the change's entry. */
  before: readonly ReceivedEvent[];
  /** The event that becomes the change's entry; null if it had no effect. */
  event: ReceivedEvent | null;
  /** How the chain changed; null if it didn't. */
  applied: Applied | null;
}

type EventPayload = Parameters<EventRouter['apply']>[0];

export interface ApplierOptions {
  journal: Journal;
  router: Pick<EventRouter, 'apply' | 'endCommand' | 'requireOwnChain'>;
  commands: Pick<EntryCommands, 'apply' | 'propose'>;
  /**
   * Returns commands that must become entries before an event or command of this host, in the open transaction. The writer
   * applies and appends them together with it.
   * @param received the event and its payload; null for a command
   * @throws the same errors as the event
   */
  commandsBefore: (received: { event: ReceivedEvent; payload: EventPayload } | null) => readonly EntryCommand[];
}

/** @param position returns the last entry of the index, including the open transaction */
export function entryApplier({ journal, router, commands, commandsBefore }: ApplierOptions, position: () => Head) {
  /** The last event. A node that missed the response sends it again. */
  const last = lastEvent();

  /**
   * Returns whether one of the newest entries has the same event. Most repeated events have no effect anyway. Events that the
   * index ignores are searched in the journal.
   */
  const isRepeated = (event: ReceivedEvent, payload: EventPayload): boolean =>
    last.is(event) || (payload.kind === 'other' && journal.holdsAfter(position().id - LOOK_BACK, event));

  /** Applies the commands that must come before an event or a command. @returns the events that become their entries */
  function applyBefore(received: Parameters<typeof commandsBefore>[0], receivedAt: number): ReceivedEvent[] {
    const events = commandsBefore(received).map((command) => ({
      path: COMMAND_PATH,
      text: JSON.stringify(command),
      receivedAt,
    }));
    for (const event of events) commands.apply(event);
    return events;
  }

  function applyEntry(entry: Entry | PreparedEntry, isLive: boolean): Applied {
    const { id, path, receivedAt } = entry;
    const content = 'content' in entry ? entry.content : entry;
    if ('payload' in content) {
      const event: ReceivedEvent = {
        path,
        receivedAt,
        get text() {
          const stored = journal.read(id);
          if (stored === undefined) throw journal.missing(id);
          return stored.text;
        },
      };
      return router.apply(content.payload, event, id, isLive);
    }
    const { text } = content;
    if (path !== COMMAND_PATH) return router.apply(readEntry(path, text), { path, text, receivedAt }, id, isLive);
    commands.apply({ text, receivedAt });
    router.endCommand(isLive);
    return { outcome: 'applied', change: null };
  }

  /** Applies the entry of a log that follows the last one. @throws ForeignEntryError, InapplicableEntryError */
  function applyNext(entry: Entry, isLive: boolean): AppliedChange {
    const { id, chain } = position();
    const isNext = entry.id === id + 1 && sameChain(nextChain(chain, entry), entry.chain);
    if (!isNext) throw new ForeignEntryError(entry.id, id);
    try {
      // An entry without effect keeps its number. An earlier version of this program may have given it an effect.
      return { result: null, before: [], event: entry, applied: applyEntry(entry, isLive) };
    } catch (cause) {
      throw isCausedByEntry(entry, cause) ? new InapplicableEntryError(entry.id, { cause }) : cause;
    }
  }

  return {
    last,
    applyEntry,

    /**
     * Reads a change. @returns a function that applies it in the open transaction
     * @throws PayloadError if an event can't be parsed
     */
    read(change: Change, isLive: boolean): () => AppliedChange {
      if ('entry' in change) return () => applyNext(change.entry, isLive);
      if ('command' in change) {
        const { command, receivedAt, clock } = change;
        return () => {
          const events = applyBefore(null, receivedAt);
          return { before: events, applied: null, ...commands.propose(command, receivedAt, clock) };
        };
      }
      const { event, isShared = false } = change;
      const payload = event.prepared?.payload ?? readReceived(event.path, event.text);
      return () => {
        if (isShared && isRepeated(event, payload)) return { result: null, before: [], event: null, applied: null };
        router.requireOwnChain(payload);
        const events = applyBefore({ event, payload }, event.receivedAt);
        const applied = router.apply(payload, event, position().id + events.length + 1, isLive);
        return { result: null, before: events, event: applied.outcome === 'applied' ? event : null, applied };
      };
    },
  };
}

interface SentEvent {
  path: string;
  text: string;
}

const hashOf = (text: string): bigint => Bun.hash(text) as bigint;

/** Remembers the last event by path, length and hash. */
function lastEvent() {
  let last: { path: string; length: number; hash: bigint } | null = null;
  return {
    is: ({ path, text }: SentEvent): boolean =>
      last !== null && path === last.path && text.length === last.length && hashOf(text) === last.hash,

    /** @param event undefined if there is none */
    record(event: SentEvent | undefined): void {
      last = event === undefined ? null : { path: event.path, length: event.text.length, hash: hashOf(event.text) };
    },
  };
}
