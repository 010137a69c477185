/** The names from before the chain as commands, by which they come to all hosts that share a log. */
import type { Database } from 'bun:sqlite';
import { type OldNameRow, oldNameAdder } from './old-name-writer.ts';

/** A row in JSON: bytes and large integers are texts that say what they are. */
type JsonRow = Record<string, unknown>;

const toJson = (_: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return { bytes: value.toHex() };
  return typeof value === 'bigint' ? { integer: String(value) } : value;
};

function fromJson(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('bytes' in value && typeof value.bytes === 'string') return Uint8Array.fromHex(value.bytes);
  return 'integer' in value && typeof value.integer === 'string' ? BigInt(value.integer) : value;
}

/** Bytes of a command after which no more rows are added. */
const MOST_BYTES = 500_000;

/** Rows in the arguments of commands, each of a bounded size. */
export async function* oldNameParts(rows: AsyncIterable<OldNameRow>): AsyncGenerator<{ rows: JsonRow[] }> {
  let part: JsonRow[] = [];
  let bytes = 0;
  for await (const row of rows) {
    const text = JSON.stringify(row, toJson);
    part.push(JSON.parse(text) as JsonRow);
    bytes += text.length;
    if (bytes < MOST_BYTES) continue;
    yield { rows: part };
    [part, bytes] = [[], 0];
  }
  if (part.length > 0) yield { rows: part };
}

/** The commands of names from before the chain. */
export function oldNameCommands(db: Database) {
  const add = oldNameAdder(db);
  return {
    /** Adds those of the rows that are not there; none where all are. @returns how many */
    'names.add': ({ rows }: { rows: readonly JsonRow[] }): number => {
      const whole = JSON.parse(JSON.stringify(rows), fromJson) as OldNameRow[];
      return whole.filter((row) => add(row)).length;
    },
  };
}
export type OldNameCommands = ReturnType<typeof oldNameCommands>;
