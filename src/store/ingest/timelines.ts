/**
 * Timelines. A log that is restored to an earlier entry than the last one goes on with other entries than before: it begins a new
 * timeline. Its first entry is a command that says where it leaves the timeline before, by the last entry that both have, so that
 * the log itself tells of which timeline it is.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Chance, systemChance } from '../../base/chance.ts';
import { type Entry, type Head, headAfter } from '../log/entry.ts';
import { COMMAND_PATH, commandOf } from './commands.ts';

/** The type of the command. */
export const TIMELINE_BEGIN = 'timeline.begin';

const Leave = Type.Object({
  /** Number of the last entry of the timeline that is left. */
  entry: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  /** Its chain value in hex. */
  chain: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
/** Where a timeline leaves another. */
type Leave = Static<typeof Leave>;

/**
 * The entry that begins a timeline.
 * @param head the last entry of the timeline that is left
 * @param receivedAt Unix microseconds
 */
export function beginningAfter(head: Head, receivedAt: number, chance: Pick<Chance, 'uuid'> = systemChance): Entry {
  const leave: Leave = { entry: head.id, chain: head.chain.toHex() };
  const text = JSON.stringify({ uuid: chance.uuid(), type: TIMELINE_BEGIN, args: leave });
  const event = { receivedAt, path: COMMAND_PATH, text };
  return { ...event, ...headAfter(head, event) };
}

/** Where the timeline that an entry begins leaves another; null for an entry that begins none. */
export function leaveIn({ id, path, text }: Entry): Leave | null {
  if (path !== COMMAND_PATH) return null;
  const { type, args } = commandOf(text);
  return type === TIMELINE_BEGIN && Value.Check(Leave, args) && args.entry === id - 1 ? args : null;
}
