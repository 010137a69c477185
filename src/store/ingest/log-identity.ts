/**
 * The identity of a log: a random name that links archives, webhook ids and change cursors to their log. The command that sets
 * it is the first entry of each log. Data restored to an earlier point gets a new identity, because its next entries differ
 * from the original log.
 */
import type { Database } from 'bun:sqlite';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type RandomSource, systemRandom } from '../../base/clock.ts';
import { parsedJson } from '../../base/json.ts';
import { type Entry, type Head, headAfter } from '../log/entry.ts';
import { logIdentityQuery } from '../queries/blocks/chain.ts';
import { query } from '../rows/statement.ts';
import { COMMAND_PATH, type EntryCommand, LOG_IDENTITY } from './commands.ts';
import type { TransactionListener } from './event.ts';

const IdentityCommand = Type.Object({
  uuid: Type.String(),
  type: Type.Literal(LOG_IDENTITY),
  args: Type.Object({ identity: Type.String({ pattern: '^[0-9a-f]{32}$' }) }),
});
type IdentityCommand = Static<typeof IdentityCommand>;

/** Returns a new identity: 32 hex characters. */
export const newIdentity = (random: Pick<RandomSource, 'uuid'> = systemRandom): string =>
  random.uuid().replaceAll('-', '');

/** Makes the command that gives a log an identity. */
export function identityCommand(identity: string, random: Pick<RandomSource, 'uuid'>): EntryCommand {
  return { uuid: random.uuid(), type: LOG_IDENTITY, args: { identity } } satisfies IdentityCommand;
}

/**
 * Makes the entry after a head that gives the log an identity.
 * @param receivedAt Unix microseconds
 */
export function identityEntry(head: Head, receivedAt: number, identity: string): Entry {
  const event = { receivedAt, path: COMMAND_PATH, text: JSON.stringify(identityCommand(identity, systemRandom)) };
  return { ...event, ...headAfter(head, event) };
}

/** Returns the last identity that one of these entries gives the log; null if none does. */
export function lastIdentityIn(entries: readonly Pick<Entry, 'path' | 'text'>[]): string | null {
  for (const { path, text } of entries.toReversed()) {
    const command = path === COMMAND_PATH ? parsedJson(text) : null;
    if (Value.Check(IdentityCommand, command)) return command.args.identity;
  }
  return null;
}

/**
 * Reads and writes the identity of the log in the open transaction.
 * @param changed called when the log gets another identity than it had
 */
export function logIdentity(db: Database, changed: () => void) {
  const find = logIdentityQuery(db);
  const set = query<null, [Uint8Array]>`UPDATE progress SET log_identity = ?1`.prepared(db);
  /** Whether an earlier look-up found an identity. */
  let isKnown = false;

  /** Returns whether no entry has given the log an identity yet. */
  function isMissing(): boolean {
    isKnown ||= find() !== null;
    return !isKnown;
  }

  return {
    listener: {
      undone() {
        isKnown = false;
      },
    } satisfies TransactionListener,

    commands: {
      [LOG_IDENTITY]: ({ identity }: IdentityCommand['args']): void => {
        const isRestored = !isMissing();
        set.run(Uint8Array.fromHex(identity));
        if (isRestored) changed();
      },
    },

    isMissing,
  };
}
