/** What ends a host of a cluster, since only the operator can mend it; and what it can't do now. */
import { OperatorError } from '../base/errors.ts';
import { chainIdText, networkOf } from '../chain/network.ts';
import { type DamagedLogError, LogUnavailableError } from '../store/log/shared-log.ts';

/** The log and the journal hold different entries under one number: they are two histories. */
export class DivergedLogError extends OperatorError {
  /** @param id the first entry that differs */
  constructor(id: number) {
    super(
      `Entry ${id} of the cluster's log is another than entry ${id} of this host's journal.`,
      'Check --cluster and --cluster-prefix. If they are right, the log lost entries that this host had answered, and took ' +
        'others: keep this data directory aside, and start this host with an empty one.',
    );
  }
}

/**
 * The log is unsound where this host has it whole: events can't be appended, and this host serves what it has until the log
 * is mended.
 */
export class UnsoundLogError extends LogUnavailableError {
  override readonly name = 'UnsoundLogError';
  constructor(override readonly cause: DamagedLogError) {
    super(`the cluster's log is unsound: entry ${cause.entry} ${cause.fault}`, { cause });
  }
}

/** A network in words, with the id of its chain. */
const chainWords = (chainId: number): string => `${networkOf(chainId).kind} (chain ${chainIdText(chainId)})`;

/** The log holds the events of another chain than a data directory does, or a host by its settings. */
export class OtherChainError extends OperatorError {
  /** @param ofLog the chain of the log @param own the other one @param who whose it is, as a part of a sentence */
  constructor(ofLog: number, own: number, who: string) {
    super(
      `The cluster's log is of ${chainWords(ofLog)}, and ${who} of ${chainWords(own)}.`,
      `Check --network, --chain-id and the node. A host of the log has --chain-id ${chainIdText(ofLog)} and a data directory that ` +
        'no other chain had; a log of another chain has a --cluster-prefix of its own.',
    );
  }
}

/** The log lost entries that this host's journal, which was trimmed, doesn't have either. */
export class UnhealableLogError extends OperatorError {
  /** @param head the newest entry of the log @param last the last one that the journal lacks */
  constructor(head: number, last: number) {
    super(
      `The cluster's log ends at entry ${head}, and this host's journal lacks the entries up to ${last}: it can't give back ` +
        'what the log lost.',
      'Start a host whose journal has these entries, or run stackside cluster init with its data directory; then start this host.',
    );
  }
}

/** The host has to follow more entries first: the node is to send its event again. */
export class HostBehindError extends LogUnavailableError {
  override readonly name = 'HostBehindError';
  constructor() {
    super("this host is behind the cluster's log");
  }
}
