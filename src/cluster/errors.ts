/** What ends a host of a cluster, since only the operator can mend it; and what it can't do now. */
import { OperatorError } from '../base/errors.ts';
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
