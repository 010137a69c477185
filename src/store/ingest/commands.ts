/**
 * Named commands: what is written besides the node's events, such as the registration of a chainhook. A command is a type
 * and arguments in plain JSON, and one function of a registry applies it inside the open transaction. What such a function
 * does is a function of the tables, the arguments and the command's time alone: whoever sends the command chose what there
 * is to choose, such as uuids and secrets, and wrote down what settings say, such as limits.
 */
import type { Clock } from '../../base/clock.ts';

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
export type KnownCommands = ReturnType<typeof knownCommands>;

/** Milliseconds of a slice of long work, so that the node's events come in between. */
const SLICE_MS = 10;

/**
 * Takes steps until one says that the work is done, or the slice is over.
 * @returns how many were taken, and whether the work is done
 */
export function takeSlice(step: () => boolean, clock: Pick<Clock, 'monotonic'>): { steps: number; done: boolean } {
  const end = clock.monotonic() + SLICE_MS;
  let steps = 0;
  do {
    steps += 1;
    if (step()) return { steps, done: true };
  } while (clock.monotonic() < end);
  return { steps, done: false };
}
