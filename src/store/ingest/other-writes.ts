/** What is written besides the node's events, in the order of all that is written. */
import type { Database } from 'bun:sqlite';
import type { Clock } from '../../base/clock.ts';
import { type Commander, type CommandRegistry, type KnownCommands, takeSlice } from './commands.ts';
import type { IndexDurability } from './durability.ts';
import { faucetCommands, faucetRequests } from './faucet-requests.ts';
import type { Transactions } from './transactions.ts';
import { preceded } from './visibility.ts';
import type { Durability, Write } from './write.ts';
import { WriterQueue } from './writer-queue.ts';

interface OtherWritesOptions {
  db: Database;
  known: KnownCommands;
  /** Whether several hosts share a log: commands are entries then, and no host writes them by itself. */
  isShared: boolean;
  transaction: Pick<Transactions, 'write'>;
  durability: Pick<IndexDurability, 'now'>;
  /** Commits what is held, so that others can read it. */
  publish: () => void;
}

/** What writes for others than the node. */
export function otherWrites({ db, known, isShared, transaction, durability, publish }: OtherWritesOptions) {
  const queue = new WriterQueue();
  const requests = faucetRequests(db);
  known.add(faucetCommands(requests));

  function writeNow<T>(change: () => T, when: Durability = 'usual'): T {
    const result = transaction.write(change);
    if (when === 'synced') durability.now();
    return result;
  }
  const write: Write = (change, when) => queue.run(() => writeNow(change, when));

  return {
    /** The order of all that is written while others may write, too. */
    queue,
    write,
    /** Writes as `write` does, at once: for those who know that nobody else writes. */
    transaction: writeNow,
    /** What the faucets gave. */
    faucetRequests: preceded({ count: requests.count }, publish),
    /** Adds commands that may be sent from now on. */
    addCommands: (registry: CommandRegistry): void => known.add(registry),
    /** What sends commands: each is a write of its own, which nothing but the index keeps. */
    commander(clock: Pick<Clock, 'now' | 'monotonic'>): Commander {
      if (isShared) throw new Error('commands of a host that shares a log go through the log');
      return {
        run: (command, when) => write(() => known.apply(command, clock.now()), when),
        slice: (command) => write(() => takeSlice(known.steps(command, clock.now()), clock).done),
      };
    },
  };
}
