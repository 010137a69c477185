/**
 * The identity of a log: a random name by which archives, webhook ids and cursors of changes know which log they belong to. The
 * command that sets it is the first entry of each log. Data restored to an earlier point gets a new identity, because other
 * entries follow there than in the log that it came from.
 */
import type { Database } from 'bun:sqlite';
import { type Chance, systemChance } from '../../base/chance.ts';
import type { Stored } from '../rows/statement.ts';
import { type EntryCommand, LOG_IDENTITY } from './commands.ts';
import type { TransactionListener } from './event.ts';

/** Returns a new identity: 32 hex characters. */
const newIdentity = (chance: Pick<Chance, 'uuid'>): string => chance.uuid().replaceAll('-', '');

/** Makes the command that gives a log a new identity. */
export function identityCommand(chance: Pick<Chance, 'uuid'> = systemChance): EntryCommand {
  return { uuid: chance.uuid(), type: LOG_IDENTITY, args: { identity: newIdentity(chance) } };
}

/** Reads and writes the identity of the log in the open transaction. */
export function logIdentity(db: Database) {
  const find = db.prepare<Stored<'progress', 'log_identity'>, []>('SELECT log_identity FROM progress');
  const set = db.prepare<null, [Uint8Array]>('UPDATE progress SET log_identity = ?1');
  /** Whether the log is known to have an identity. */
  let isKnown = false;

  return {
    listener: {
      undone() {
        isKnown = false;
      },
    } satisfies TransactionListener,

    commands: {
      [LOG_IDENTITY]: ({ identity }: { identity: string }): void => void set.run(Uint8Array.fromHex(identity)),
    },

    /** Returns whether no entry has given the log an identity yet. */
    isMissing(): boolean {
      isKnown ||= find.get()?.log_identity != null;
      return !isKnown;
    },
  };
}
