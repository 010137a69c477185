/**
 * Compares the keys and types of the simulated node's events with those of a recording. `bun run shapes RECORDING`
 * prints the differences. If the recording has more than the demo, the exit code is 2.
 */
import { parseArgs } from 'node:util';
import { EXIT, OperatorError } from '../../src/base/errors.ts';
import { openInput, rowReader } from '../../src/commands/data/input.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';

/** Types by the path of a value: `/new_block transactions[].vm_error`. */
export type Shapes = ReadonlyMap<string, ReadonlySet<string>>;

/** Parts whose keys are contract data and don't belong to an event's format. */
const OPAQUE = new Set(['contract_interface']);

/** Adds the shapes of a value. The `type` of a list's items, if present, distinguishes their shapes. */
function add(shapes: Map<string, Set<string>>, path: string, value: unknown): void {
  const type = value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value;
  const types = shapes.get(path) ?? new Set();
  shapes.set(path, types.add(type));
  if (Array.isArray(value)) {
    for (const item of value) {
      const kind = (item as { type?: unknown } | null)?.type;
      add(shapes, typeof kind === 'string' ? `${path}[${kind}]` : `${path}[]`, item);
    }
  } else if (value !== null && typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) {
      if (OPAQUE.has(key)) continue;
      add(shapes, `${path}${path.includes(' ') ? '.' : ' '}${key}`, member);
    }
  }
}

/** The shapes of events. */
export function shapesOf(events: Iterable<{ path: string; body: string }>): Shapes {
  const shapes = new Map<string, Set<string>>();
  for (const { path, body } of events) add(shapes, path, JSON.parse(body));
  return shapes;
}

/**
 * Returns the paths that only the first shapes have, and types of common paths that only they have. A missing path is
 * listed without the paths inside it.
 */
export function findMissing(shapes: Shapes, others: Shapes): string[] {
  return [...shapes]
    .flatMap(([path, types]) => {
      const otherTypes = others.get(path);
      if (otherTypes !== undefined)
        return [...types].filter((type) => !otherTypes.has(type)).map((type) => `${path}: ${type}`);
      const parent = parentOf(path);
      return parent === '' || others.has(parent) ? [path] : [];
    })
    .sort();
}

/** Returns the path of the value's container, or an empty text for a whole event. */
const parentOf = (path: string): string => path.match(/^(.*)(?:\.[^.[\]]+|\[[^\]]*\]| [^ .[\]]+)$/)?.[1] ?? '';

/** The events of a recording. @throws OperatorError */
async function recordedShapes(file: string): Promise<Shapes> {
  const shapes = new Map<string, Set<string>>();
  const read = rowReader(file, true, null);
  let row = 0;
  for await (const line of openInput(file).lines()) {
    row += 1;
    const event = await read(line, row);
    if (event !== null) add(shapes, event.path, JSON.parse(event.text));
  }
  return shapes;
}

/** Blocks of the simulated chain: enough for its reward cycles, forks and rare events. */
const BLOCKS = 600;

if (import.meta.main) {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [file] = positionals;
  if (file === undefined) throw new OperatorError('No recording is named.', 'bun run shapes events.tsv.gz');
  const demo = shapesOf(devnetEvents({ seed: 1, blocks: BLOCKS, faucet: true }));
  const recorded = await recordedShapes(file);
  const missing = findMissing(recorded, demo);
  const extra = findMissing(demo, recorded);
  const list = (title: string, lines: readonly string[]) =>
    process.stdout.write(`${title}: ${lines.length}\n${lines.map((line) => `  ${line}\n`).join('')}`);
  list('The recording has, and the demo lacks', missing);
  list('The demo has, and the recording does not contain', extra);
  if (missing.length > 0) process.exitCode = EXIT.difference;
}
