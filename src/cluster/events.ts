/** Log events and metrics of a host of a cluster. */
import type { ServiceEvent } from '../base/log-events.ts';

export type ClusterEvent =
  | ServiceEvent
  | { event: 'log_followed'; entries: number; position: number }
  | { event: 'log_conflict'; entry: number }
  /** The log had lost these entries, the newest ones or others, and has them back from this host's journal. */
  | { event: 'log_restored'; first: number; last: number }
  /** These entries of the log are missing or damaged. */
  | { event: 'log_corrupt'; first: number; last: number; fault: string; remedy: string }
  /** The host delivers chainhooks from now on, or no longer. `reason`: why it lost the lease. */
  | { event: 'delivery_lease_changed'; held: boolean; epoch: number; reason?: string };

export type ClusterLog = (event: ClusterEvent) => void;

export interface ClusterMetrics {
  /** Entries of this host were appended. @param seconds duration of the append @param entries how many were appended together */
  appended(seconds: number, entries: number): void;
}

/** Progress and results of the log's verification on this host. */
export interface VerificationState {
  /** The newest verified entry in the present pass, or in the last one. */
  verified: number;
  /** Number of entries known to be missing or damaged. */
  corrupt: number;
  /** Number of missing entries that this host gave back to the log. */
  filled: number;
}

export interface LeaseStatus {
  isHeld: boolean;
  /** Name of the present holder; null if no host is known to have the lease. */
  holder: string | null;
  /** Epoch of the last known lease; null before the first request. */
  epoch: number | null;
}

export interface ClusterState {
  /** Number of the host's last entry. */
  position: number;
  /** Number of the log's newest entry at the last answer; null before the first. */
  head: number | null;
  /** Seconds since the host last had all entries of the log; 0 while it has. */
  lagSeconds: number;
  /** Seconds since the log last answered, or since it accepts no writes; since the start if it never answered. */
  failingSeconds: number;
  /** Whether the log answered the last request, and accepts writes. */
  reachable: boolean;
  /** Why the log was unusable last, as a sentence without its period; null if it is reachable. */
  failure: string | null;
  /** Number of events and commands that lost against another host's entry. */
  conflicts: number;
  /** Number of lost entries that this host gave back to the log. */
  healed: number;
}
