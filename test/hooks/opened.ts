/** An open data directory with its chainhooks and their tables. */
import { type HookMachine, hookMachine } from '../../src/hooks/machine.ts';
import type { LogEvent } from '../../src/log.ts';
import type { HookStore } from '../../src/store/hooks/store.ts';
import { type IngestOptions, openIngest } from '../../src/store/ingest/ingest.ts';
import { SAME_IDENTITY } from '../support/data/ingest.ts';

/** Opens hooks. `own`: tables that a test may write to without entries, or make fail. */
export function openedHooks(options: Omit<IngestOptions, 'machine' | 'log'> & { log: (event: LogEvent) => void }) {
  const writers: { machine: HookMachine; tables: HookStore }[] = [];
  const ingest = openIngest({
    views: false,
    random: SAME_IDENTITY,
    ...options,
    machine(parts) {
      const machine = hookMachine(parts, options.log);
      writers.push({ machine, tables: parts.store });
      return machine;
    },
  });
  return { ingest, ...writers[0]! };
}
