/** What a host of a cluster says of its work, and what is counted of it. */
export type ClusterEvent =
  /** `head` is the number of the newest entry, `position` that of the host's last one. */
  | { event: 'log_reached'; position: number; head: number }
  | { event: 'log_unavailable'; reason: string; cause: unknown }
  | { event: 'log_followed'; entries: number; position: number }
  | { event: 'log_conflict'; entry: number }
  /** The log had lost these entries, and has them again from this host's journal. */
  | { event: 'log_healed'; first: number; last: number }
  /** These entries of the log are missing or damaged. */
  | { event: 'log_unsound'; first: number; last: number; fault: string; remedy: string }
  /** These entries were missing in the log, and it has them again from this host's journal. */
  | { event: 'log_filled'; first: number; last: number }
  /** The host delivers chainhooks from now on. */
  | { event: 'delivery_lease_gained'; epoch: number }
  /** The host delivers no more. */
  | { event: 'delivery_lease_lost'; epoch: number; reason: string }
  /** The lease can't be asked for, or renewed. */
  | { event: 'delivery_lease_unavailable'; reason: string; cause: unknown };

export type ClusterLog = (event: ClusterEvent) => void;

/** Metrics of a host of a cluster. */
export interface ClusterMetrics {
  /** Seconds that the log took for an entry of this host. */
  appended(seconds: number): void;
}

/** What a host found out about the soundness of the log. */
export interface VerificationState {
  /** The entry up to which the log was verified in the pass that is under way, or in the last one. */
  verified: number;
  /** Entries that are known to be missing or damaged. */
  unsound: number;
  /** Entries that were missing and that the log has again from this host. */
  filled: number;
}

/** What a host knows of a lease. */
export interface LeaseStatus {
  /** Whether this host has it. */
  isHeld: boolean;
  /** The host that had it when it was asked for last; null before that. */
  holder: string | null;
  /** The epoch of that holder; null before the first. */
  epoch: number | null;
  /** How often this host gained it, or lost it. */
  changes: number;
}

/** What is known of a host of a cluster. */
export interface ClusterState {
  /** The number of the host's last entry. */
  position: number;
  /** The number of the log's newest entry, as far as is known; null before the log was reached. */
  head: number | null;
  /** Seconds since the host was last known to hold all entries of the log; 0 while it is. */
  lagSeconds: number;
  /** Seconds since the log last answered; since the start where it never did. */
  silentSeconds: number;
  /** Whether the log answered when it was asked last. */
  reachable: boolean;
  /** Events that another host's entry came before. */
  conflicts: number;
  /** Entries that the log had lost and got back from this host. */
  healed: number;
}
