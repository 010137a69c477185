/** What the process itself takes. */
import { readdirSync } from 'node:fs';
import { Counter, Gauge, type Registry } from 'prom-client';

const MICROSECONDS = 1e6;

export function processMetrics(registry: Registry): void {
  const registers = [registry];
  let counted = 0;
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time used, in all threads',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.inc((user + system - counted) / MICROSECONDS);
      counted = user + system;
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory in use',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Unix time of the start',
    registers,
  }).set(Date.now() / 1000 - process.uptime());
  if (process.platform !== 'linux') return;
  new Gauge({
    name: 'process_open_fds',
    help: 'Open file descriptors: connections and files',
    registers,
    collect() {
      this.set(readdirSync('/proc/self/fd').length);
    },
  });
}
