/** Words that a column keeps as numbers. Each list stands once; reading, writing and SQL texts take the numbers from it. */

/** A row holds a number that stands for no word: the row is damaged, or another program wrote it. */
export class UnknownNumberError extends Error {
  override readonly name = 'UnknownNumberError';
  constructor(
    readonly table: string,
    readonly column: string,
    readonly number: number,
    /** Id of the row; undefined where it wasn't read. */
    readonly row?: number,
  ) {
    super(
      `${row === undefined ? 'A row' : `Row ${row}`} of ${table} has ${column} ${number}, which stands for nothing that this program knows`,
    );
  }
}

export interface StoredWords<W extends string> {
  words: readonly W[];
  numberOf(word: W): number;
  /**
   * @param row id of the row that holds the number
   * @throws UnknownNumberError where the number stands for no word
   */
  wordOf(number: number, row?: number): W;
}

type Numbered<W extends string> = readonly W[] | Readonly<Record<W, number>>;

const isList = <W extends string>(numbered: Numbered<W>): numbered is readonly W[] => Array.isArray(numbered);

/** @param numbered each word with its number, or the words alone, each at the place that is its number */
export function storedWords<const W extends string>(
  table: string,
  column: string,
  numbered: Numbered<W>,
): StoredWords<W> {
  const pairs: [W, number][] = isList(numbered)
    ? numbered.map((word, number) => [word, number])
    : (Object.keys(numbered) as W[]).map((word) => [word, numbered[word]]);
  const numbers = new Map(pairs);
  const words = new Map(pairs.map(([word, number]) => [number, word]));
  return {
    words: [...numbers.keys()],
    numberOf(word) {
      const number = numbers.get(word);
      if (number === undefined) throw new Error(`${table}.${column} knows no ${word}`);
      return number;
    },
    wordOf(number, row) {
      const word = words.get(number);
      if (word === undefined) throw new UnknownNumberError(table, column, number, row);
      return word;
    },
  };
}
