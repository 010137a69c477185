/**
 * Named commands: what is written besides the node's events, such as the registration of a chainhook. A command is a type
 * and arguments in plain JSON, and one function of a registry applies it inside the open transaction. What such a function
 * does is a function of the tables, the arguments and the command's time alone: whoever sends the command chose what there
 * is to choose, such as uuids and secrets, and wrote down what settings say, such as limits.
 */
import type { Database } from 'bun:sqlite';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Clock } from '../../base/clock.ts';
import { parsedJson } from '../../base/json.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import { isStorageError } from '../files/store-failure.ts';
import type { Entry } from '../log/entry.ts';
import { LogUnavailableError } from '../log/shared-log.ts';
import type { ReceivedEvent, TransactionListener } from './event.ts';

/**
 * Applies a command in the open transaction. What it throws takes the command back.
 * @param at Unix milliseconds
 */
// biome-ignore lint/suspicious/noExplicitAny: each has arguments and a result of its own
export type ApplyCommand = (args: any, at: number) => any;

/**
 * A command that is work in steps. It is taken until it is done, or until the time of a slice is over; whoever applies the
 * command later takes as many steps.
 */
export interface SteppedCommand<A> {
  /** @returns what takes a step, and returns whether the work is done */
  steps(args: A, at: number): () => boolean;
}

/** What applies commands, by their types. */
// biome-ignore lint/suspicious/noExplicitAny: each has arguments of its own
export type CommandRegistry = Readonly<Record<string, ApplyCommand | SteppedCommand<any>>>;

/** A command as it is written down. */
export interface Command {
  type: string;
  args: object;
}

/** Sends commands, each of which is applied when it is its turn. */
export interface Commander {
  /**
   * @returns what the command's function returned
   * @throws what the function throws, and StoreUnavailableError; then nothing has changed
   */
  run(command: Command): Promise<unknown>;
  /**
   * Takes steps of a command until its work is done, or the slice is over.
   * @returns whether the work is done
   * @throws as `run`
   */
  slice(command: Command): Promise<boolean>;
}

/** Sends the commands of a registry. */
export interface CommandsOf<R extends CommandRegistry> {
  run<T extends keyof R & string>(
    type: T,
    args: R[T] extends ApplyCommand ? Parameters<R[T]>[0] : never,
  ): Promise<R[T] extends ApplyCommand ? ReturnType<R[T]> : never>;
  slice<T extends keyof R & string>(
    type: T,
    args: R[T] extends SteppedCommand<infer A> ? A & object : never,
  ): Promise<boolean>;
}

/** The commands of a registry, sent by a commander that knows the registry. */
export const commandsOf = <R extends CommandRegistry>({ run, slice }: Commander): CommandsOf<R> => ({
  run: (type, args) => run({ type, args }) as ReturnType<CommandsOf<R>['run']>,
  slice: (type, args) => slice({ type, args }),
});

/** All commands that are known. */
export function knownCommands() {
  const known = new Map<string, ApplyCommand | SteppedCommand<object>>();

  return {
    add(registry: CommandRegistry): void {
      for (const [type, command] of Object.entries(registry)) {
        if (known.has(type)) throw new Error(`there are two commands of the type ${type}`);
        known.set(type, command);
      }
    },

    /** Applies a command that is no work in steps. */
    apply({ type, args }: Command, at: number): unknown {
      const command = known.get(type);
      if (typeof command !== 'function') throw new Error(`no command of the type ${type} is applied at once`);
      return command(args, at);
    },

    /** What takes a step of a command. */
    steps({ type, args }: Command, at: number): () => boolean {
      const command = known.get(type);
      if (command === undefined || typeof command === 'function') throw new Error(`${type} has no steps`);
      return command.steps(args, at);
    },
  };
}
type KnownCommands = ReturnType<typeof knownCommands>;

/** Milliseconds of a slice of long work, so that the node's events come in between. */
const SLICE_MS = 10;

/**
 * Takes steps until one says that the work is done, or the slice is over.
 * @returns how many were taken, and whether the work is done
 */
function takeSlice(step: () => boolean, clock: Pick<Clock, 'monotonic'>): { steps: number; done: boolean } {
  const end = clock.monotonic() + SLICE_MS;
  let steps = 0;
  do {
    steps += 1;
    if (step()) return { steps, done: true };
  } while (clock.monotonic() < end);
  return { steps, done: false };
}

/** The path of entries that are commands. No node posts to it. */
export const COMMAND_PATH = '/stackside/command';

const CommandText = Type.Object({
  /** Distinguishes the command from all others. */
  uuid: Type.String(),
  type: Type.String(),
  args: Type.Object({}, { additionalProperties: true }),
  /** How many steps were taken of a command that is work in steps. */
  steps: Type.Optional(Type.Integer({ minimum: 1 })),
});

/** A command as an entry has it. */
type EntryCommand = Static<typeof CommandText>;

/** A command that a host sends to the log. */
export interface SentCommand extends Command {
  uuid: string;
  /** Whether it is work in steps, of which a slice is taken. */
  isSlice: boolean;
}

/** What became of a command that was applied as a proposal. */
interface ProposedCommand {
  /** What the command's function returned, or whether the work of a slice is done. */
  result: unknown;
  /** The entry that stands for it; null where it changes nothing, or is an entry already. */
  event: ReceivedEvent | null;
}

/** A host wrote the text, so that numbers are what they were there, also those beyond 2^53. */
function commandOf(text: string): EntryCommand {
  const command = parsedJson(text);
  if (!Value.Check(CommandText, command)) throw new PayloadError('The entry is no command');
  return command;
}

/** The time of an entry in Unix milliseconds. */
export const millisecondsOf = ({ receivedAt }: Pick<ReceivedEvent, 'receivedAt'>): number =>
  Math.floor(receivedAt / 1_000);

/** Results of own commands that are remembered, for whoever sends one again because its answer was lost. */
const MOST_RESULTS = 1_000;

/** Remembers what own commands returned that came back as entries of the log. */
function returnedResults() {
  /** Own commands, and what those returned that came back. */
  const own = new Map<string, { result: unknown } | null>();
  let uncommitted = new Map<string, { result: unknown }>();

  return {
    /** The command is sent by this process. */
    send(uuid: string): void {
      if (own.has(uuid)) return;
      own.set(uuid, null);
      const [oldest] = own.keys();
      if (own.size > MOST_RESULTS && oldest !== undefined) own.delete(oldest);
    },
    note(uuid: string, result: unknown): void {
      if (own.has(uuid)) uncommitted.set(uuid, { result });
    },
    of: (uuid: string): { result: unknown } | null => own.get(uuid) ?? null,
    listener: {
      committed() {
        for (const [uuid, result] of uncommitted) own.set(uuid, result);
        uncommitted = new Map();
      },
      undone() {
        uncommitted = new Map();
      },
    } satisfies TransactionListener,
  };
}

export type EntryCommands = ReturnType<typeof entryCommands>;

/** What applies commands of entries in the open transaction. */
export function entryCommands(db: Database, known: KnownCommands) {
  const totalChanges = db.prepare<{ changes: number }, []>('SELECT total_changes() AS changes');
  const changes = (): number => totalChanges.get()?.changes ?? 0;
  const results = returnedResults();

  function applied({ type, args, steps }: EntryCommand, at: number): unknown {
    if (steps === undefined) return known.apply({ type, args }, at);
    const step = known.steps({ type, args }, at);
    let done = false;
    for (let taken = 0; taken < steps; taken++) done = step();
    return done;
  }

  return {
    listener: results.listener,

    /** Applies an entry. @throws PayloadError for what is no command, and what the command's function throws */
    apply(entry: Pick<Entry, 'text' | 'receivedAt'>): void {
      const command = commandOf(entry.text);
      results.note(command.uuid, applied(command, millisecondsOf(entry)));
    },

    /**
     * Applies a command of this host, as its entry will be applied by others.
     * @param receivedAt Unix microseconds
     * @throws what the command's function throws
     */
    propose(
      { uuid, type, args, isSlice }: SentCommand,
      receivedAt: number,
      clock: Pick<Clock, 'monotonic'>,
    ): ProposedCommand {
      const returned = results.of(uuid);
      if (returned !== null) return { ...returned, event: null };
      const before = changes();
      results.send(uuid);
      // Whoever applies the entry reads the command from this text.
      const command = commandOf(JSON.stringify({ uuid, type, args }));
      const at = millisecondsOf({ receivedAt });
      let result: unknown;
      if (isSlice) {
        const { steps, done } = takeSlice(known.steps(command, at), clock);
        command.steps = steps;
        result = done;
      } else {
        result = known.apply(command, at);
      }
      const event = { path: COMMAND_PATH, text: JSON.stringify(command), receivedAt };
      return { result, event: changes() === before ? null : event };
    },
  };
}

/** Writes to a local table when it is its turn, all of it or nothing. @throws what `change` throws, StoreUnavailableError */
export type LocalWrite = <T>(change: () => T) => Promise<T>;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Takes a slice of long work.
 * @param slice returns whether the work is done
 * @param failed notes that the work can't go on, such as for lack of a block; others go on
 * @returns whether the work is done
 * @throws what the store or the log of hosts throws where it can't be written or read now
 */
export async function sliceOrFailure(
  slice: () => Promise<boolean>,
  failed: (reason: string, error: unknown) => Promise<unknown>,
): Promise<boolean> {
  try {
    return await slice();
  } catch (error) {
    if (isStorageError(error) || error instanceof LogUnavailableError) throw error;
    await failed(messageOf(error), error);
    return true;
  }
}

/** What takes long work step by step. */
export const slices =
  (write: LocalWrite, clock: Clock) =>
  /** Takes a slice of the steps in a transaction; as {@link sliceOrFailure}, where `failed` is called in a transaction. */
  (step: () => boolean, failed: (reason: string, error: unknown) => void): Promise<boolean> =>
    sliceOrFailure(
      () => write(() => takeSlice(step, clock).done),
      (reason, error) => write(() => failed(reason, error)),
    );
