/** Why a host can't take part in a log: its chainhooks are not those of the log. */
import { OperatorError } from '../../base/errors.ts';

/** The index has chainhooks or signing secrets that no entry of the log has made. */
export class UnsharedHooksError extends OperatorError {
  constructor() {
    super(
      "This host's index has chainhooks or signing secrets of its own, which the cluster's log doesn't know.",
      'Start this host with an empty data directory, and register its chainhooks and make its secrets anew; or make a new log that begins with them: ' +
        'stackside cluster init with its directory and another --cluster-prefix.',
    );
  }
}

/** The host left its cluster, and its chainhooks changed since without the log. */
export class LeftClusterError extends OperatorError {
  constructor() {
    super(
      "This host ran without --cluster after it had left the cluster, so that its chainhooks are not those of the cluster's log.",
      'Move index.db away and make it anew from the journal (stackside rebuild), or start this host with an empty data directory.',
    );
  }
}
