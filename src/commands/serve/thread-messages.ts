/** What the main thread and the API's threads say to each other. */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Settings } from '../../settings/config.ts';
import type { ThreadLog } from './recent-log.ts';

/** The metrics of a registry, to be aggregated with those of others. */
export type ThreadMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** The data that a thread starts with. */
export interface ThreadStart {
  settings: Settings;
  port: number;
  /** Whether other threads listen on the same port. */
  shared: boolean;
  /** The URL at which the main thread answers requests that threads pass on. */
  mainThread: string;
  /** The secret by which the main thread recognises requests from its own threads. */
  passage: string;
  /** The memory of the counts of requests. */
  requests: SharedArrayBuffer;
  /** The memory of the count of commits. */
  commits: SharedArrayBuffer;
  /** Whether the log is one for people, which the main thread prints. */
  log: { pretty: boolean; colors: boolean };
}

/** A message from an API thread to the main thread. */
export type FromThread =
  | { kind: 'listening'; url: string }
  /** An OperatorError of the thread: the two lines for the operator, and whether a disk has no room. */
  | { kind: 'refused'; problem: string; remedy: string; isFull: boolean }
  | { kind: 'crashed'; cause: string }
  /** A line of the log. */
  | { kind: 'said'; line: string }
  | { kind: 'metrics'; id: number; metrics: ThreadMetrics }
  | { kind: 'log'; id: number; log: ThreadLog }
  | { kind: 'stopped' };

/** A message from the main thread to an API thread. */
export type ToThread = { kind: 'tell'; what: 'metrics' | 'log'; id: number } | { kind: 'stop' };
