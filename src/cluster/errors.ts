/** What ends a host of a cluster, since only the operator can mend it; and what it can't do now. */
import { OperatorError } from '../base/errors.ts';
import { LogUnavailableError } from '../store/log/shared-log.ts';

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

/** An entry of the log is missing, or isn't what its chain value says. */
export class DamagedLogError extends OperatorError {
  constructor(id: number, fault: 'is missing' | 'is damaged: its chain value is another') {
    super(
      `Entry ${id} of the cluster's log ${fault}.`,
      "Restore the log's table from a backup of the database; hosts append what the backup lacks.",
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
