/** Words that a column keeps as numbers. Each list stands once; reading, writing and SQL texts take the numbers from it. */

/** A row holds a number that stands for no word: the row is damaged, or another program wrote it. */
export class UnknownNumberError extends Error {
  override readonly name = 'UnknownNumberError';
  constructor(
    readonly table: string,
    readonly column: string,
    /** Id of the row. */
    readonly row: number,
    readonly number: number,
  ) {
    super(`Row ${row} of ${table} has ${column} ${number}, which stands for nothing that this program knows`);
  }
}

export interface StoredWords<W extends string> {
  words: readonly W[];
  numberOf(word: W): number;
  /**
   * @param row id of the row that holds the number
   * @throws UnknownNumberError where the number stands for no word
   */
  wordOf(number: number, row: number): W;
}

/** @param words each at the place that is its number */
export function storedWords<const W extends string>(
  table: string,
  column: string,
  words: readonly W[],
): StoredWords<W> {
  const numbers = new Map(words.map((word, number) => [word, number]));
  return {
    words,
    numberOf(word) {
      const number = numbers.get(word);
      if (number === undefined) throw new Error(`${table}.${column} knows no ${word}`);
      return number;
    },
    wordOf(number, row) {
      const word = words[number];
      if (word === undefined) throw new UnknownNumberError(table, column, row, number);
      return word;
    },
  };
}
