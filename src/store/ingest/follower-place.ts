/** Who follows the chain as it changes. */
import type { Cursor } from '../hooks/model.ts';
import type { HookOrigins } from '../hooks/origin.ts';
import type { ChainChange } from './chain-writer.ts';
import { millisecondsOf } from './entry-commands.ts';
import type { ReceivedEvent } from './event.ts';
import type { ChainFollower, ChainHistory } from './follower.ts';
import type { StateMachine } from './state-machine.ts';
import type { Participant } from './transactions.ts';

/** The tip as a cursor; without a hash before the first block. */
export const cursorOf = ({ height, indexBlockHash }: ReturnType<ChainHistory['tip']>): Cursor =>
  height === 0 ? { height: 0, hash: new Uint8Array(0) } : { height, hash: indexBlockHash };

/** The followers of the chain, once there are any. @param origins where their tables come from */
export function followerPlace(origins: HookOrigins) {
  /** Made with the index: its tables follow from entries where they come from these. */
  let machine: StateMachine | null = null;
  /** Follows all that happens from some time on. */
  let follower: ChainFollower | null = null;
  const all = (): Iterable<ChainFollower> => new Set([machine?.follower, follower].filter((one) => one != null));

  return {
    compose(made: StateMachine): void {
      machine = made;
    },
    set(one: ChainFollower): void {
      follower = one;
    },
    replaced: (): void => machine?.replaced(),
    changed(change: ChainChange, event: ReceivedEvent): void {
      if (machine !== null && origins.origin() === 'entries') machine.follower.changed(change, millisecondsOf(event));
      else follower?.changed(change, null);
    },
    participant: {
      undone() {
        for (const one of all()) one.undone();
      },
      committed() {
        for (const one of all()) one.committed();
      },
      recovered() {
        for (const one of all()) one.recovered();
      },
    } satisfies Participant,
  };
}
