/** Metrics of stdout and stderr. */
import type { Registry } from 'prom-client';
import { droppedBy, type LossyOutputs } from '../base/lossy-output.ts';
import { collectedCounter } from './collected.ts';

/** Registers the metric of what couldn't be written. */
export function outputMetrics(registry: Registry, outputs: LossyOutputs): void {
  collectedCounter(registry, {
    name: 'stackside_log_lines_dropped_total',
    help: "Lines of the log that couldn't be written, the ready line and the terminal's page included",
    read: () => droppedBy(outputs),
  });
}
