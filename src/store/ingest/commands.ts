/**
 * Commands: changes that Stackside itself writes to the log, such as the registration of a chainhook. A command has a type and
 * arguments in plain JSON, and a function of a registry applies it in the open transaction. The function depends only on the
 * tables, the arguments and the command's time. So the sender chooses uuids and secrets, and puts the limits of its settings
 * into the arguments.
 */
import type { Database } from 'bun:sqlite';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Clock } from '../../base/clock.ts';
import { OperatorError, TransientError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import { isStorageError } from '../files/connection.ts';
import { type Entry, withheld } from '../log/entry.ts';
import { query } from '../rows/statement.ts';
import type { ReceivedEvent, TransactionListener } from './event.ts';

/**
 * Applies a command in the open transaction. If it throws, the command is rolled back.
 * @param time Unix milliseconds
 */
// biome-ignore lint/suspicious/noExplicitAny: each has arguments and a result of its own
export type ApplyCommand = (args: any, time: number) => any;

/**
 * A command whose work is done in batches, until the work is done or its turn is over. A replay of the command applies the
 * same number of batches.
 */
export interface BatchedCommand<A> {
  /** @returns a function that applies a batch, and returns whether the work is done */
  batch(args: A, time: number): () => boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: each has arguments of its own
export type CommandRegistry = Readonly<Record<string, ApplyCommand | BatchedCommand<any>>>;

export interface Command {
  type: string;
  args: object;
}

/** Sends commands, each of which waits for its turn in the writer's queue. */
export interface Commander {
  /**
   * @returns the result of the command's function
   * @throws errors of the function, and StoreUnavailableError; then nothing has changed
   */
  run(command: Command): Promise<unknown>;
  /**
   * Applies batches of a command until its work is done, or its turn is over.
   * @returns whether the work is done
   * @throws as `run`
   */
  runBatches(command: Command): Promise<boolean>;
}

export interface CommandsOf<R extends CommandRegistry> {
  run<T extends keyof R & string>(
    type: T,
    args: R[T] extends ApplyCommand ? Parameters<R[T]>[0] : never,
  ): Promise<R[T] extends ApplyCommand ? ReturnType<R[T]> : never>;
  runBatches<T extends keyof R & string>(
    type: T,
    args: R[T] extends BatchedCommand<infer A> ? A & object : never,
  ): Promise<boolean>;
}

/** Returns typed functions that send the commands of a registry. */
export const commandsOf = <R extends CommandRegistry>({ run, runBatches }: Commander): CommandsOf<R> => ({
  run: (type, args) => run({ type, args }) as ReturnType<CommandsOf<R>['run']>,
  runBatches: (type, args) => runBatches({ type, args }),
});

/** The error for a command that only a newer program applies. Without the command, all that follows would be another state. */
const unknownCommand = (type: string): OperatorError =>
  new OperatorError(
    `The log contains the command ${type}, which this version doesn't support.`,
    'Run the newer version of Stackside that wrote it, or restore an archive of the log up to an entry before it (stackside restore --until-entry).',
  );

/** Milliseconds of a turn of long work, after which events of the node are accepted. */
const TURN_MS = 10;

/**
 * Applies batches until one returns that the work is done, or the turn is over.
 * @returns the number of applied batches, and whether the work is done
 */
export function applyBatches(
  batch: () => boolean,
  clock: Pick<Clock, 'monotonic'>,
): { batches: number; done: boolean } {
  const end = clock.monotonic() + TURN_MS;
  let batches = 0;
  do {
    batches += 1;
    if (batch()) return { batches, done: true };
  } while (clock.monotonic() < end);
  return { batches, done: false };
}

/** The type of the command that gives the log its identity (`log-identity.ts`). */
export const LOG_IDENTITY = 'log.identity';

/** The path of entries that are commands. No node posts to it. */
export const COMMAND_PATH = '/stackside/command';

const CommandText = Type.Object({
  /** Distinguishes the command from all others. */
  uuid: Type.String(),
  type: Type.String(),
  args: Type.Object({}, { additionalProperties: true }),
  /** Number of applied batches of a batched command; the journal calls them steps. */
  steps: Type.Optional(Type.Integer({ minimum: 1 })),
});

export type EntryCommand = Static<typeof CommandText>;

/** A command that a host sends to the log. */
export interface SentCommand extends Command {
  uuid: string;
  /** Whether the command's work is done in batches. */
  isBatched: boolean;
}

/** The outcome of a command that was applied and is not in the log yet. */
interface ProposedCommand {
  /** The result of the command's function; for a batched command, whether its work is done. */
  result: unknown;
  /** The event that becomes the entry; null if the command changes nothing or already has an entry. */
  event: ReceivedEvent | null;
}

/** Reads a command. A host wrote the text, so its numbers are exact, also those beyond 2^53. @throws PayloadError */
function parseCommand(text: string): EntryCommand {
  const command = parsedJson(text);
  if (!Value.Check(CommandText, command)) throw new PayloadError('The entry is no command');
  return command;
}

/**
 * Returns whether public archives must omit a command, because it concerns only the hosts of its log. The log's identity and
 * the metadata of tokens are public. An invalid command isn't.
 */
export const isPrivateCommand = (text: string): boolean => {
  const command = parsedJson(text);
  if (!Value.Check(CommandText, command)) return true;
  return command.type !== LOG_IDENTITY && !command.type.startsWith('tokens.');
};

/** Whether an entry is a private or invalid command in clear text. */
export const isPrivateEntry = ({ path, text }: Pick<Entry, 'path' | 'text'>): boolean =>
  path === COMMAND_PATH && isPrivateCommand(text);

/** An entry as everybody may read it: private commands are withheld. */
export const publicEntry = (entry: Entry): Entry => (isPrivateEntry(entry) ? withheld(entry) : entry);

/** The time of an entry in Unix milliseconds. */
export const millisecondsOf = ({ receivedAt }: Pick<ReceivedEvent, 'receivedAt'>): number =>
  Math.floor(receivedAt / 1_000);

/** Number of remembered results of own commands, for a sender that repeats a command because its answer was lost. */
const MAX_RESULTS = 1_000;

/** Remembers the results of own commands that came back as entries of the log. */
function returnedResults() {
  /** Commands of this host by uuid, with the result once they are applied, and null before. */
  const sent = new Map<string, { result: unknown } | null>();
  let uncommitted = new Map<string, { result: unknown }>();

  return {
    /** Notes that this process sends the command. */
    recordSent(uuid: string): void {
      if (sent.has(uuid)) return;
      sent.set(uuid, null);
      const [oldest] = sent.keys();
      if (sent.size > MAX_RESULTS && oldest !== undefined) sent.delete(oldest);
    },
    record(uuid: string, result: unknown): void {
      if (sent.has(uuid)) uncommitted.set(uuid, { result });
    },
    find: (uuid: string): { result: unknown } | null => sent.get(uuid) ?? null,
    listener: {
      committed() {
        for (const [uuid, result] of uncommitted) sent.set(uuid, result);
        uncommitted = new Map();
      },
      undone() {
        uncommitted = new Map();
      },
    } satisfies TransactionListener,
  };
}

export type EntryCommands = ReturnType<typeof entryCommands>;

/** Applies commands in the open transaction. */
export function entryCommands(db: Database) {
  const commands = new Map<string, ApplyCommand | BatchedCommand<object>>();
  const totalChanges = query<{ changes: number }>`SELECT total_changes() AS changes`.prepared(db);
  const changes = (): number => totalChanges.get()?.changes ?? 0;
  const results = returnedResults();

  function applyAtOnce({ type, args }: Command, time: number): unknown {
    const command = commands.get(type);
    if (typeof command !== 'function') throw new Error(`no command of the type ${type} is applied at once`);
    return command(args, time);
  }

  /** @returns a function that applies a batch of a command */
  function batchOf({ type, args }: Command, time: number): () => boolean {
    const command = commands.get(type);
    if (command === undefined || typeof command === 'function') throw new Error(`${type} has no batches`);
    return command.batch(args, time);
  }

  function applyCommand(command: EntryCommand, time: number): unknown {
    if (command.steps === undefined) return applyAtOnce(command, time);
    const batch = batchOf(command, time);
    let done = false;
    for (let count = 0; count < command.steps; count++) done = batch();
    return done;
  }

  return {
    listener: results.listener,

    add(registry: CommandRegistry): void {
      for (const [type, command] of Object.entries(registry)) {
        if (commands.has(type)) throw new Error(`there are two commands of the type ${type}`);
        commands.set(type, command);
      }
    },

    /**
     * Applies an entry.
     * @throws PayloadError if the text isn't a command, OperatorError for an unknown command, and errors of the command's
     *   function
     */
    apply(entry: Pick<Entry, 'text' | 'receivedAt'>): void {
      const command = parseCommand(entry.text);
      if (!commands.has(command.type)) throw unknownCommand(command.type);
      results.record(command.uuid, applyCommand(command, millisecondsOf(entry)));
    },

    /**
     * Applies a command of this host as other hosts will apply its entry.
     * @param receivedAt Unix microseconds
     * @throws errors of the command's function
     */
    propose(
      { uuid, type, args, isBatched }: SentCommand,
      receivedAt: number,
      clock: Pick<Clock, 'monotonic'>,
    ): ProposedCommand {
      const returned = results.find(uuid);
      if (returned !== null) return { ...returned, event: null };
      const changesBefore = changes();
      results.recordSent(uuid);
      // The command is read from the text of its entry, as other hosts read it.
      const command = parseCommand(JSON.stringify({ uuid, type, args }));
      const time = millisecondsOf({ receivedAt });
      let result: unknown;
      if (isBatched) {
        const { batches, done } = applyBatches(batchOf(command, time), clock);
        command.steps = batches;
        result = done;
      } else {
        result = applyAtOnce(command, time);
      }
      const event = { path: COMMAND_PATH, text: JSON.stringify(command), receivedAt };
      return { result, event: changes() === changesBefore ? null : event };
    },
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Gives long work a turn.
 * @param turn returns whether the work is done
 * @param failed called if this work can't continue, such as for lack of a block; other work continues
 * @returns whether the work is done
 * @throws TransientError, and errors of SQLite, if the store or the shared log is unavailable
 */
export async function turnOrFailure(
  turn: () => Promise<boolean>,
  failed: (reason: string, error: unknown) => Promise<unknown>,
): Promise<boolean> {
  try {
    return await turn();
  } catch (error) {
    if (isStorageError(error) || error instanceof TransientError) throw error;
    await failed(messageOf(error), error);
    return true;
  }
}
