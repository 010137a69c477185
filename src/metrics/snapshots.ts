/** Metrics of the snapshots that requests read. */
import { Counter, type Registry } from 'prom-client';
import type { SnapshotEvent } from '../store/read/snapshots.ts';

/** @returns a function that counts an event and passes it on to the log */
export function snapshotLog(registry: Registry, log: (event: SnapshotEvent) => void): (event: SnapshotEvent) => void {
  const cutOff = new Counter({
    name: 'stackside_snapshots_cut_off_total',
    help: 'Requests that were cut off because they read one snapshot for too long',
    registers: [registry],
  });
  return (event) => {
    if (event.event === 'snapshot_cut_off') cutOff.inc();
    log(event);
  };
}
