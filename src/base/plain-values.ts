/**
 * Plain values as bytes, for messages between threads. A structured clone of many small objects takes several times as
 * long.
 *
 * Plain values are null, undefined, booleans, numbers, bigints, texts, Uint8Arrays, arrays, maps, and objects without a
 * class. A text, object, array or map that occurs several times is written once, and is one value again after reading.
 */
import { memoize } from './cache.ts';

/**
 * The first byte of a value. Each comment describes the bytes that follow. Numbers are written as in
 * {@link Writer.number}.
 */
const TAG = {
  null: 0,
  undefined: 1,
  false: 2,
  true: 3,
  /** A number: an integer from 0 on. */
  integer: 4,
  /** Eight bytes, little-endian. */
  double: 5,
  /** A number: a bigint from 0 on that fits a double. */
  bigint: 6,
  /** Any other bigint: the ASCII text of its decimal digits. */
  longBigint: 7,
  /** Length, and one byte per character. */
  ascii: 8,
  /** Length in bytes, and UTF-8. */
  utf8: 9,
  /** Length in UTF-16 units, and two bytes, little-endian, per unit: a text without a UTF-8 form. */
  utf16: 10,
  /** Number of an earlier text. */
  sameText: 11,
  /** Length, and bytes. */
  bytes: 12,
  /** Length, and values. */
  array: 13,
  /** Length, and keys with their values. */
  map: 14,
  /** Number of the object's list of names, and values. */
  object: 15,
  /** Count of names, the names, and values. */
  objectOfNewNames: 16,
  /** Number of an earlier object, array or map. */
  same: 17,
} as const;

const FIRST_BYTES = 65_536;
/** Maximum length of a text that is searched among the earlier texts. */
const MAX_SHARED_LENGTH = 256;
const MORE = 0x80;

interface Shape {
  names: readonly string[];
  number: number;
}

/** Reports whether two lists of the same length are equal. */
function isSame(a: readonly string[], b: readonly string[]): boolean {
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

class Writer {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #at = 0;
  readonly #texts = new Map<string, number>();
  readonly #values = new Map<object, number>();
  /** Lists of names of objects, with their numbers, by the count of names. */
  readonly #shapes = new Map<number, Shape[]>();
  #shapeCount = 0;

  /** The written bytes, in a separate buffer. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.subarray(0, this.#at));
  }

  /** Makes room for this number of additional bytes. */
  #room(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
  }

  #tag(tag: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = tag;
  }

  /**
   * Writes an integer from 0 to 2^53: seven bits per byte, the lowest first. All bytes except the last have the highest
   * bit set.
   */
  #number(value: number): void {
    this.#room(8);
    let left = value;
    while (left >= MORE) {
      this.#bytes[this.#at++] = (left % MORE) | MORE;
      left = Math.floor(left / MORE);
    }
    this.#bytes[this.#at++] = left;
  }

  #text(value: string): void {
    const cached = value.length <= MAX_SHARED_LENGTH ? this.#texts.get(value) : undefined;
    if (cached !== undefined) {
      this.#tag(TAG.sameText);
      this.#number(cached);
      return;
    }
    if (value.length <= MAX_SHARED_LENGTH) this.#texts.set(value, this.#texts.size);
    const length = Buffer.byteLength(value);
    if (length === value.length) {
      this.#tag(TAG.ascii);
      this.#number(length);
      this.#room(length);
      this.#bytes.write(value, this.#at, 'latin1');
    } else if (value.isWellFormed()) {
      this.#tag(TAG.utf8);
      this.#number(length);
      this.#room(length);
      this.#bytes.write(value, this.#at, 'utf8');
    } else {
      this.#tag(TAG.utf16);
      this.#number(2 * value.length);
      this.#room(2 * value.length);
      this.#at += this.#bytes.write(value, this.#at, 'utf16le');
      return;
    }
    this.#at += length;
  }

  #numeric(value: number): void {
    if (Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0)) {
      this.#tag(TAG.integer);
      this.#number(value);
      return;
    }
    this.#tag(TAG.double);
    this.#room(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  #bigint(value: bigint): void {
    if (value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) {
      this.#tag(TAG.bigint);
      this.#number(Number(value));
    } else {
      this.#tag(TAG.longBigint);
      this.#text(value.toString());
    }
  }

  #blob(value: Uint8Array): void {
    this.#tag(TAG.bytes);
    this.#number(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  #object(value: object): void {
    const known = this.#values.get(value);
    if (known !== undefined) {
      this.#tag(TAG.same);
      this.#number(known);
      return;
    }
    if (Array.isArray(value)) {
      this.#tag(TAG.array);
      this.#number(value.length);
      for (const item of value) this.write(item);
    } else if (value instanceof Map) {
      this.#tag(TAG.map);
      this.#number(value.size);
      for (const [key, item] of value) {
        this.write(key);
        this.write(item);
      }
    } else this.#properties(value as Record<string, unknown>);
    this.#values.set(value, this.#values.size);
  }

  #properties(value: Record<string, unknown>): void {
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new TypeError(`a value of the class ${prototype.constructor?.name} is not plain`);
    }
    const names = Object.keys(value);
    // In an object literal, this name would set the prototype.
    if (names.includes('__proto__')) throw new TypeError('an object with the name __proto__ is not plain');
    const shape = this.#shapeOf(names);
    if (shape === null) {
      this.#tag(TAG.objectOfNewNames);
      this.#number(names.length);
      for (const name of names) this.#text(name);
    } else {
      this.#tag(TAG.object);
      this.#number(shape);
    }
    for (const name of names) this.write(value[name]);
  }

  /** Returns the number of these names; null if they are new. */
  #shapeOf(names: readonly string[]): number | null {
    const alike = this.#shapes.get(names.length);
    if (alike !== undefined) for (const shape of alike) if (isSame(shape.names, names)) return shape.number;
    const shape = { names, number: this.#shapeCount++ };
    if (alike === undefined) this.#shapes.set(names.length, [shape]);
    else alike.push(shape);
    return null;
  }

  write(value: unknown): void {
    if (typeof value === 'string') this.#text(value);
    else if (typeof value === 'number') this.#numeric(value);
    else if (typeof value === 'bigint') this.#bigint(value);
    else if (typeof value === 'boolean') this.#tag(value ? TAG.true : TAG.false);
    else if (value === undefined) this.#tag(TAG.undefined);
    else if (value === null) this.#tag(TAG.null);
    else if (value instanceof Uint8Array) this.#blob(value);
    else if (typeof value === 'object') this.#object(value);
    else throw new TypeError(`a ${typeof value} is not plain`);
  }
}

/** Makes an object of the values that `read` returns, in the order of the object's names. */
type MakeObject = (read: () => unknown) => object;

/** Maximum number of cached functions. Messages have far fewer kinds of objects. */
const MAX_MAKERS = 1_000;

/**
 * Returns the compiled function for the names in a JSON text. Making an object from a literal takes half the time of
 * setting its properties by name.
 */
const makerOf = memoize((names: string): MakeObject => {
  const properties = (JSON.parse(names) as string[]).map((name) => `${JSON.stringify(name)}: read()`);
  return new Function('read', `return { ${properties.join(', ')} };`) as MakeObject;
}, MAX_MAKERS);

class Reader {
  readonly #raw: Uint8Array;
  readonly #bytes: Buffer;
  #at = 0;
  readonly #texts: string[] = [];
  readonly #values: object[] = [];
  readonly #shapes: MakeObject[] = [];
  readonly #read = (): unknown => this.read();

  constructor(bytes: Uint8Array) {
    this.#raw = bytes;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  #number(): number {
    const bytes = this.#bytes;
    let value = bytes[this.#at++]!;
    if (value < MORE) return value;
    value -= MORE;
    for (let scale = MORE; ; scale *= MORE) {
      const byte = bytes[this.#at++];
      if (byte === undefined) throw new RangeError('the bytes of a value end within a number');
      if (byte < MORE) return value + byte * scale;
      value += (byte - MORE) * scale;
    }
  }

  #text(tag: number): string {
    const length = this.#number();
    if (tag === TAG.sameText) return this.#texts[length]!;
    const end = this.#at + length;
    const encoding = tag === TAG.ascii ? 'latin1' : tag === TAG.utf8 ? 'utf8' : 'utf16le';
    const text = this.#bytes.toString(encoding, this.#at, end);
    this.#at = end;
    if (text.length <= MAX_SHARED_LENGTH) this.#texts.push(text);
    return text;
  }

  #blob(): Uint8Array {
    const length = this.#number();
    this.#at += length;
    return this.#raw.slice(this.#at - length, this.#at);
  }

  #array(): unknown[] {
    const length = this.#number();
    const array = new Array<unknown>(length);
    for (let index = 0; index < length; index++) array[index] = this.read();
    this.#values.push(array);
    return array;
  }

  #map(): Map<unknown, unknown> {
    const map = new Map<unknown, unknown>();
    for (let left = this.#number(); left > 0; left--) {
      const key = this.read();
      map.set(key, this.read());
    }
    this.#values.push(map);
    return map;
  }

  #newNames(): MakeObject {
    const names = Array.from({ length: this.#number() }, () => this.read() as string);
    const make = makerOf(JSON.stringify(names));
    this.#shapes.push(make);
    return make;
  }

  #object(make: MakeObject): object {
    const object = make(this.#read);
    this.#values.push(object);
    return object;
  }

  read(): unknown {
    const tag = this.#bytes[this.#at++]!;
    switch (tag) {
      case TAG.null:
        return null;
      case TAG.undefined:
        return undefined;
      case TAG.false:
        return false;
      case TAG.true:
        return true;
      case TAG.integer:
        return this.#number();
      case TAG.double:
        this.#at += 8;
        return this.#bytes.readDoubleLE(this.#at - 8);
      case TAG.bigint:
        return BigInt(this.#number());
      case TAG.longBigint:
        return BigInt(this.read() as string);
      case TAG.bytes:
        return this.#blob();
      case TAG.array:
        return this.#array();
      case TAG.map:
        return this.#map();
      case TAG.object:
        return this.#object(this.#shapes[this.#number()]!);
      case TAG.objectOfNewNames:
        return this.#object(this.#newNames());
      case TAG.same:
        return this.#values[this.#number()]!;
      default:
        return this.#text(tag);
    }
  }
}

/** Converts a plain value to bytes. @throws TypeError for a value that isn't plain */
export function bytesOfValue(value: unknown): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  writer.write(value);
  return writer.bytes;
}

/** Converts bytes of {@link bytesOfValue} back to the value. Its Uint8Arrays are copies. */
export const valueOfBytes = (bytes: Uint8Array): unknown => new Reader(bytes).read();
