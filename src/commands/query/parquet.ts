/** Rows as a Parquet file, made group by group, so that its size in memory is that of a group. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Form, ResultColumn, SqlValue } from '../../store/sql/result.ts';
import { distinctNames, shown } from './values.ts';

/** The size of a row group, which ends where either is reached. */
interface GroupSize {
  rows: number;
  /** Bytes of texts and numbers. */
  bytes: number;
}

const USUAL_GROUP: GroupSize = { rows: 10_000, bytes: 8_000_000 };

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];
type Element = Schema[number];
type Value = bigint | number | boolean | string | Uint8Array | Date | null;

interface Kind {
  element: Omit<Element, 'name'>;
  convert(value: Exclude<SqlValue, null>): Value;
}

const text: Kind = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  convert: (value) => (typeof value === 'string' ? value : String(shown(value))),
};

/**
 * The type in Parquet for each form. Amounts are texts: a token's has up to 39 digits, and DECIMAL holds 38 at most.
 */
const kinds: Readonly<Record<Form, Kind>> = {
  integer: { element: { type: 'INT64' }, convert: (value) => BigInt(value as bigint) },
  boolean: { element: { type: 'BOOLEAN' }, convert: (value) => Number(value) === 1 },
  real: { element: { type: 'DOUBLE' }, convert: Number },
  time: {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    convert: (value) => new Date(String(value)),
  },
  bytes: { element: { type: 'BYTE_ARRAY' }, convert: (value) => value as Uint8Array },
  text,
  hex: text,
  amount: text,
  mixed: text,
};

/** Collects what the writer makes, and gives it out. */
class Parts extends ByteWriter {
  take(): Uint8Array {
    const part = this.getBytes().slice();
    this.index = 0;
    return part;
  }
}

const sizeOf = (value: Value): number => (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8);

/** Rows of a group, by columns. */
class Group {
  rows = 0;
  bytes = 0;
  readonly columns: Value[][];
  constructor(private readonly shape: readonly Kind[]) {
    this.columns = shape.map(() => []);
  }

  add(row: readonly SqlValue[]): void {
    this.rows += 1;
    for (const [i, { convert }] of this.shape.entries()) {
      const stored = row[i] ?? null;
      const value = stored === null ? null : convert(stored);
      this.columns[i]?.push(value);
      this.bytes += sizeOf(value);
    }
  }

  isFull({ rows, bytes }: GroupSize): boolean {
    return this.rows >= rows || this.bytes >= bytes;
  }
}

/** Makes the parts of a Parquet file, compressed with zstd. Every column may be null. @param size others are for tests */
export function* parquet(
  columns: readonly ResultColumn[],
  rows: Iterable<SqlValue[]>,
  size: GroupSize = USUAL_GROUP,
): Generator<Uint8Array> {
  const names = distinctNames(columns);
  const shape = columns.map(({ form }) => kinds[form]);
  const schema: Schema = [
    { name: 'root', num_children: columns.length },
    ...shape.map(({ element }, i): Element => ({ name: names[i] ?? '', repetition_type: 'OPTIONAL', ...element })),
  ];
  const parts = new Parts();
  const writer = new ParquetWriter({
    writer: parts,
    schema,
    codec: 'ZSTD',
    compressors: { ZSTD: (bytes) => Bun.zstdCompressSync(bytes) },
    createdBy: 'stackside',
  });

  function write(group: Group): Uint8Array {
    const columnData = group.columns.map((data, i) => ({ name: names[i] ?? '', data, offsetIndex: false }));
    writer.write({ columnData, rowGroupSize: group.rows });
    return parts.take();
  }

  let group = new Group(shape);
  for (const row of rows) {
    group.add(row);
    if (!group.isFull(size)) continue;
    yield write(group);
    group = new Group(shape);
  }
  if (group.rows > 0) yield write(group);
  writer.finish();
  yield parts.take();
}
