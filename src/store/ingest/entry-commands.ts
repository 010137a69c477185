/** Commands among the entries of a log: what is asked of a host is an entry, like the events of its node. */
import type { Database } from 'bun:sqlite';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Clock } from '../../base/clock.ts';
import { parsedJson } from '../../base/json-text.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import type { Entry } from '../log/entry.ts';
import { type Command, type KnownCommands, takeSlice } from './commands.ts';
import type { ReceivedEvent } from './event.ts';
import type { Participant } from './participant.ts';

/** The path of entries that are commands. No node posts to it. */
export const COMMAND_PATH = '/stackside/command';

const CommandText = Type.Object({
  /** Tells the command from all others. */
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
export interface ProposedCommand {
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
    participant: {
      committed() {
        for (const [uuid, result] of uncommitted) own.set(uuid, result);
        uncommitted = new Map();
      },
      undone() {
        uncommitted = new Map();
      },
    } satisfies Participant,
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
    participant: results.participant,

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
