/** What the main thread and the API's threads say to each other. */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Settings } from '../settings/config.ts';

/** What a registry holds, to be added to that of others. */
export type ThreadMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** With what a thread begins. */
export interface ThreadStart {
  settings: Settings;
  port: number;
  /** Whether other threads listen on the same port. */
  shared: boolean;
  /** Where the main thread answers what a thread passes on to it. */
  mainThread: string;
  /** By which the main thread knows what a thread passes on to it. */
  passage: string;
}

/** From a thread. */
export type FromThread =
  | { kind: 'listening'; url: string }
  /** Two lines for the operator. */
  | { kind: 'refused'; problem: string; remedy: string }
  | { kind: 'crashed'; cause: string }
  | { kind: 'metrics'; id: number; metrics: ThreadMetrics }
  | { kind: 'stopped' };

/** To a thread. */
export type ToThread = { kind: 'collect'; id: number } | { kind: 'stop' };
