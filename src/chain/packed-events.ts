/**
 * The events of a transaction that has hundreds of thousands, as in a genesis block: kept as compressed JSON, and made
 * anew whenever the list is gone through. As objects they would take some ten times the memory of their JSON.
 */
import { zstdCompressSync, zstdDecompressSync } from 'bun';
import { collecting } from '../base/garbage.ts';
import type { ChainEvent, ChainEvents } from './block.ts';

/** Characters of JSON in a chunk, which is parsed at once. */
const CHUNK = 1_000_000;

/** Chunks after which the garbage of making them, or of parsing them, is collected. */
const CHUNKS_OF_A_COLLECTION = 4;

const COMPRESSION_LEVEL = 1;

const decoder = new TextDecoder();

const packed = (texts: readonly string[]): Uint8Array =>
  zstdCompressSync(`[${texts.join(',')}]`, { level: COMPRESSION_LEVEL });

export class PackedEvents implements ChainEvents {
  readonly length: number;
  /** A JSON array each, compressed with zstd. */
  readonly #chunks: Uint8Array[] = [];
  readonly #parse: (json: string) => ChainEvent[];

  /**
   * @param texts the JSON of each event, in their order
   * @param parse makes the events of a JSON array
   */
  constructor(texts: Iterable<string>, parse: (json: string) => ChainEvent[]) {
    this.#parse = parse;
    const step = collecting(CHUNKS_OF_A_COLLECTION);
    let length = 0;
    let chunk: string[] = [];
    let characters = 0;
    for (const text of texts) {
      chunk.push(text);
      characters += text.length;
      length += 1;
      if (characters < CHUNK) continue;
      this.#chunks.push(packed(chunk));
      chunk = [];
      characters = 0;
      step();
    }
    if (chunk.length > 0) this.#chunks.push(packed(chunk));
    this.length = length;
  }

  *[Symbol.iterator](): Generator<ChainEvent> {
    const step = collecting(CHUNKS_OF_A_COLLECTION);
    for (const chunk of this.#chunks) {
      yield* this.#parse(decoder.decode(zstdDecompressSync(chunk)));
      step();
    }
  }

  *entries(): Generator<[number, ChainEvent]> {
    let index = 0;
    for (const event of this) yield [index++, event];
  }
}
