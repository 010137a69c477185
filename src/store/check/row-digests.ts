/**
 * Digests of the rows of a table in ranges of equal length, to compare two tables without their rows. There are never more
 * than {@link MOST_RANGES}: ranges of a longer table have more rows. A range's digest is the sum of its rows' hashes, so the
 * digest of two ranges together is the sum of theirs.
 */
import { SHA256 } from 'bun';

export type Value = string | bigint | number | Uint8Array | null;

/** Number and digests of a table's rows. */
export interface TableDigest {
  rows: number;
  /** Rows of each range, a power of two; the last one may have fewer. */
  rangeRows: number;
  /** Digest of each range, in the order of the rows: 16 bytes in hexadecimal. */
  ranges: string[];
}

export const MOST_RANGES = 256;

/** Words of 32 bits in a digest. */
const WORDS = 4;

type Sum = Uint32Array<ArrayBuffer>;

function add(sum: Sum, other: Sum): void {
  for (let word = 0; word < WORDS; word++) sum[word] = sum[word]! + other[word]!;
}

/** Joins ranges in pairs. */
function inPairs(ranges: readonly Sum[]): Sum[] {
  const pairs: Sum[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    const pair = ranges[at]!.slice();
    const second = ranges[at + 1];
    if (second !== undefined) add(pair, second);
    pairs.push(pair);
  }
  return pairs;
}

const TAG = { null: 0, integer: 1, real: 2, text: 3, blob: 4 } as const;
/** Bytes of a tag with a number or a length. */
const FIXED = 1 + 8;

/** Encodes rows as bytes from which they could be decoded, one after the other in the same memory. */
function rowBytes() {
  let buffer = Buffer.alloc(64 * 1024);
  let end = 0;

  function reserve(bytes: number): void {
    if (end + bytes <= buffer.length) return;
    const longer = Buffer.alloc(2 * (end + bytes));
    buffer.copy(longer, 0, 0, end);
    buffer = longer;
  }

  function addTagged(tag: number, content: Uint8Array): void {
    buffer[end] = tag;
    buffer.writeBigUInt64LE(BigInt(content.length), end + 1);
    end += FIXED;
    reserve(content.length);
    buffer.set(content, end);
    end += content.length;
  }

  function addNumber(value: bigint | number): void {
    buffer[end] = typeof value === 'bigint' ? TAG.integer : TAG.real;
    if (typeof value === 'bigint') buffer.writeBigInt64LE(value, end + 1);
    else buffer.writeDoubleLE(value, end + 1);
    end += FIXED;
  }

  function addValue(value: Value): void {
    reserve(FIXED);
    if (typeof value === 'string') addTagged(TAG.text, Buffer.from(value));
    else if (value instanceof Uint8Array) addTagged(TAG.blob, value);
    else if (value !== null) addNumber(value);
    else buffer[end++] = TAG.null;
  }

  return (row: readonly Value[]): Uint8Array => {
    end = 0;
    for (const value of row) addValue(value);
    return buffer.subarray(0, end);
  };
}

/** Makes a table's digest from its rows. */
export function tableDigester() {
  const bytesOf = rowBytes();
  const hash = new Uint32Array(8);
  let ranges: Sum[] = [];
  let rows = 0;
  let rangeRows = 1;
  return {
    /** Adds the next row. Integers are bigints. */
    add(row: readonly Value[]): void {
      if (rows === rangeRows * MOST_RANGES) {
        ranges = inPairs(ranges);
        rangeRows *= 2;
      }
      if (rows === rangeRows * ranges.length) ranges.push(new Uint32Array(WORDS));
      SHA256.hash(bytesOf(row), hash);
      add(ranges.at(-1)!, hash);
      rows += 1;
    },
    digest: (): TableDigest => ({
      rows,
      rangeRows,
      ranges: ranges.map(({ buffer }) => new Uint8Array(buffer).toHex()),
    }),
  };
}

/** Rows by number, from 1 on. */
interface RowRange {
  first: number;
  last: number;
}

const sumsOf = ({ ranges }: TableDigest): Sum[] =>
  ranges.map((digest) => new Uint32Array(Uint8Array.fromHex(digest).slice().buffer));

/** The first range in which two tables differ; null where they are equal. */
export function firstDifference(a: TableDigest, b: TableDigest): RowRange | null {
  let [ours, theirs] = [sumsOf(a), sumsOf(b)];
  const rangeRows = Math.max(a.rangeRows, b.rangeRows);
  for (let size = a.rangeRows; size < rangeRows; size *= 2) ours = inPairs(ours);
  for (let size = b.rangeRows; size < rangeRows; size *= 2) theirs = inPairs(theirs);
  const rows = Math.max(a.rows, b.rows);
  for (let at = 0; at * rangeRows < rows; at++) {
    const [our, their] = [ours[at], theirs[at]];
    const isEqual = our !== undefined && their !== undefined && our.every((word, index) => word === their[index]);
    if (!isEqual) return { first: at * rangeRows + 1, last: Math.min(rows, (at + 1) * rangeRows) };
  }
  return null;
}
