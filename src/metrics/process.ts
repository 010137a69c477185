/** Metrics of the process itself. */
import { readdirSync } from 'node:fs';
import { Gauge, type Registry } from 'prom-client';
import { collectedCounter, collectedGauge } from './collected.ts';

const MICROSECONDS = 1e6;

/** Registers the metrics of CPU, memory and, on Linux, file descriptors. */
export function processMetrics(registry: Registry): void {
  collectedCounter(registry, {
    name: 'process_cpu_seconds_total',
    help: 'CPU time used by all threads, in seconds',
    read() {
      const { user, system } = process.cpuUsage();
      return (user + system) / MICROSECONDS;
    },
  });
  collectedGauge(registry, {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory, in bytes',
    read: () => process.memoryUsage.rss(),
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Time at which the process started, in Unix seconds',
    registers: [registry],
  }).set(Date.now() / 1000 - process.uptime());
  if (process.platform !== 'linux') return;
  collectedGauge(registry, {
    name: 'process_open_fds',
    help: 'Open file descriptors: connections and files',
    read: () => readdirSync('/proc/self/fd').length,
  });
}
