/** Log events that several parts of the program share. */

/** A part of the program that can fail for a while, and tries again. */
export type ServiceName =
  | 'writes'
  | 'index'
  | 'archive'
  | 'bases'
  | 'following'
  | 'snp'
  | 'gap_filling'
  | 'starting_accounts'
  | 'token_metadata'
  | 'shared_log'
  | 'delivery_lease';

export type ServiceEvent =
  /** A part fails, for a reason that wasn't logged just before. `place`: the location of an archive. */
  | {
      event: 'service_failing';
      service: ServiceName;
      reason: string;
      remedy?: string | null;
      place?: string;
      cause?: unknown;
    }
  /** A part works again after a number of failures in a row. */
  | { event: 'service_resumed'; service: ServiceName; failures?: number; place?: string };

/**
 * A setting, or the machine, isn't as it should be. `observer`: the section that the node's
 * configuration needs; `place`: the location of an archive.
 */
export interface SetupEvent {
  event: 'setup_warning';
  problem: string;
  remedy: string;
  observer?: string;
  place?: string;
}

/** An error that nobody expects: a bug in Stackside. */
export interface UnexpectedEvent {
  event: 'unexpected_error';
  part: 'request' | 'realtime' | 'chainhook' | 'value_index';
  cause: unknown;
  /** The request that failed, the protocol of the connection, or the chainhook. */
  method?: string;
  path?: string;
  protocol?: string;
  uuid?: string;
}
