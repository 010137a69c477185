/** Log events and metrics of a host of a cluster. */
export type ClusterEvent =
  /** `head`: number of the log's newest entry; `position`: number of the host's last one. */
  | { event: 'log_reached'; position: number; head: number }
  | { event: 'log_unavailable'; reason: string; cause: unknown }
  | { event: 'log_followed'; entries: number; position: number }
  | { event: 'log_conflict'; entry: number }
  /** The log had lost these entries, and has them back from this host's journal. */
  | { event: 'log_restored'; first: number; last: number }
  /** These entries of the log are missing or damaged. */
  | { event: 'log_corrupt'; first: number; last: number; fault: string; remedy: string }
  /** These entries were missing between others, and the log has them back from this host's journal. */
  | { event: 'log_filled'; first: number; last: number }
  /** The host delivers chainhooks from now on. */
  | { event: 'delivery_lease_gained'; epoch: number }
  /** The host no longer delivers chainhooks. */
  | { event: 'delivery_lease_lost'; epoch: number; reason: string }
  /** The lease can be neither requested nor renewed. */
  | { event: 'delivery_lease_unavailable'; reason: string; cause: unknown };

export type ClusterLog = (event: ClusterEvent) => void;

/** Metrics of a host of a cluster. */
export interface ClusterMetrics {
  /** Entries of this host were appended. @param seconds duration of the append @param entries how many were appended together */
  appended(seconds: number, entries: number): void;
}

/** Progress and results of the log's verification on this host. */
export interface VerificationState {
  /** The newest verified entry in the present pass, or in the last one. */
  verified: number;
  /** Number of entries known to be missing or damaged. */
  unsound: number;
  /** Number of missing entries that this host gave back to the log. */
  filled: number;
}

/** A lease as a host knows it. */
export interface LeaseStatus {
  /** Whether this host has it. */
  isHeld: boolean;
  /** Name of the holder at the last request; null before the first. */
  holder: string | null;
  /** Epoch of that holder's lease; null before the first. */
  epoch: number | null;
  /** How often this host gained or lost the lease. */
  changes: number;
}

/** The state of a host of a cluster. */
export interface ClusterState {
  /** Number of the host's last entry. */
  position: number;
  /** Number of the log's newest entry at the last answer; null before the first. */
  head: number | null;
  /** Seconds since the host last had all entries of the log; 0 while it has. */
  lagSeconds: number;
  /** Seconds since the log last answered; since the start if it never did. */
  silentSeconds: number;
  /** Whether the log answered the last request. */
  reachable: boolean;
  /** Number of events and commands that lost against another host's entry. */
  conflicts: number;
  /** Number of lost entries that this host gave back to the log. */
  healed: number;
}
