/** A mutant: one random change of the source, which can be found again after the tree has changed. */
import { Prng } from '../../src/devnet/prng.ts';
import type { Mutation } from './mutations.ts';

export interface Mutant {
  file: string;
  kind: Mutation['kind'];
  /** The line where the change starts, its number, counted from 1, and the column in it. */
  text: string;
  line: number;
  column: number;
  before: string;
  after: string;
}

const lineOf = (text: string, place: number): number => text.slice(0, place).split('\n').length;

function mutantOf(file: string, text: string, { kind, start, end, after }: Mutation): Mutant {
  const begin = text.lastIndexOf('\n', start - 1) + 1;
  const [line = ''] = text.slice(begin).split('\n');
  const before = text.slice(start, end);
  return { file, kind, text: line, line: lineOf(text, start), column: start - begin, before, after };
}

/**
 * Returns the current position of a mutant's change in a text: on the line with the same text that is nearest to its
 * number. Null if the line is gone.
 */
export function placeOf(mutant: Mutant, text: string): { start: number; end: number; after: string } | null {
  const { line, column, before, after } = mutant;
  let nearest: { start: number; away: number } | null = null;
  let begin = 0;
  for (const [index, row] of text.split('\n').entries()) {
    const start = begin + column;
    const away = Math.abs(index + 1 - line);
    if (row === mutant.text && text.startsWith(before, start) && away < (nearest?.away ?? Number.POSITIVE_INFINITY)) {
      nearest = { start, away };
    }
    begin += row.length + 1;
  }
  return nearest && { start: nearest.start, end: nearest.start + before.length, after };
}

/** A source of mutants: every line with possible changes is equally likely. */
export class Mutants {
  /** The possible changes of each line. */
  readonly #lines: Mutant[][];

  /** @param files their texts, with the possible changes of each */
  constructor(files: Iterable<{ file: string; text: string; changes: readonly Mutation[] }>) {
    this.#lines = [...files].flatMap(({ file, text, changes }) => [
      ...Map.groupBy(
        changes.map((change) => mutantOf(file, text, change)),
        ({ line }) => line,
      ).values(),
    ]);
  }

  /** Lines with possible changes. */
  get size(): number {
    return this.#lines.length;
  }

  /** Draws the next mutant of a seed. @param drawn the mutants drawn so far, in order */
  draw(seed: number, drawn: readonly Mutant[]): Mutant {
    const random = new Prng(`mutant ${seed} ${drawn.length}`);
    for (;;) {
      const line = this.#lines[random.below(this.#lines.length)]!;
      const mutant = line[random.below(line.length)]!;
      if (!drawn.some((other) => isSame(other, mutant) && other.line === mutant.line)) return mutant;
    }
  }
}

/** Returns true if two mutants make the same change of the same line, at any position. */
export const isSame = (a: Omit<Mutant, 'line' | 'kind'>, b: Omit<Mutant, 'line' | 'kind'>): boolean =>
  a.file === b.file && a.text === b.text && a.column === b.column && a.before === b.before && a.after === b.after;
