/** Opens a data directory with the machine that its chainhooks are a function of. */
import { type Ingest, type IngestOptions, openIngest } from '../store/ingest/ingest.ts';
import { type HookMachine, hookMachine, type MachineSurroundings } from './machine.ts';

/**
 * Opens a data directory for writing, and brings the index up to its journal, with the commands of chainhooks in it.
 * @throws OperatorError
 */
export function openWithHooks(
  options: Omit<IngestOptions, 'machine'>,
  surroundings: MachineSurroundings,
): { ingest: Ingest; machine: HookMachine } {
  const made: HookMachine[] = [];
  const ingest = openIngest({
    ...options,
    machine(parts) {
      const machine = hookMachine({ ...parts, ...surroundings });
      made.push(machine);
      return machine;
    },
  });
  const [machine] = made;
  if (machine === undefined) throw new Error('the index was opened without its machine');
  return { ingest, machine };
}
