/** The log as a host of one chain has it. */
import type { SharedLog } from '../store/log/shared-log.ts';
import { OtherChainError } from './errors.ts';

/**
 * Verifies, before the log is read and before it takes an entry, that it is of the chain of this host, and names the chain
 * of a log that has none before its first entry. What reads and appends throws OtherChainError, too.
 * @param chainId the host's chain, by its settings, its data, or the block that is being taken; null before anything says it
 */
export function ofOneChain(log: SharedLog, chainId: () => number | null): SharedLog {
  /** The host's chain that the log is known to be of. */
  let verified: number | null = null;

  /** @throws OtherChainError, LogUnavailableError */
  async function requireChain(isAppending: boolean): Promise<void> {
    const own = chainId();
    if (own === null || own === verified) return;
    const ofLog = await log.chain(isAppending ? own : null);
    if (ofLog === null) return;
    if (ofLog !== own) throw new OtherChainError(ofLog, own, 'this host');
    verified = own;
  }

  return {
    async append(entry, head) {
      await requireChain(true);
      return log.append(entry, head);
    },
    async appendTogether(entries, head) {
      await requireChain(true);
      return log.appendTogether(entries, head);
    },
    async read(...range) {
      await requireChain(false);
      return log.read(...range);
    },
    head: () => log.head(),
    chain: (named) => log.chain(named),
    wait: (after, signal) => log.wait(after, signal),
    close: () => log.close(),
  };
}
