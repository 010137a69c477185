import type { Readiness } from '../../api/operations.ts';
import type { OperatorError } from '../../base/errors.ts';

/** A server that was started. */
export interface Running {
  /** The URL of the API; null where this process doesn't serve it. */
  api: string | null;
  /** The URL of the event port; null where this process takes no events. */
  events: string | null;
  /** Makes the path of a link that signs a browser in; null where this process manages no chainhooks. */
  signInPath: (() => string) | null;
  /** The state as `/ready` tells it. */
  readiness(): Promise<Readiness>;
  /** The chain of the index; null where nothing has said yet which it is. */
  chainId(): Promise<number | null>;
  /** Resolves with what ended a host of a cluster, which only the operator can mend; null where there is none. */
  failed: Promise<OperatorError> | null;
  /** Finishes what is in progress, then closes the files. */
  stop(): Promise<void>;
}
