/** The words that each shell completes. */
import { type CommandEntry, commandTree, type OptionEntry, type Values, withAllBelow } from '../command-tree.ts';

/** A position in the command line: after the program, or after a command. */
export interface Place {
  /** The words so far, separated by blanks; empty for the program itself. */
  path: string;
  /** Commands that may follow, with their summaries. */
  commands: { word: string; help: string }[];
  options: OptionEntry[];
  /** The kind of the arguments; null if the command has none. */
  values: Values | null;
}

const place = ({ words, commands, options, arguments: expected }: CommandEntry): Place => ({
  path: words.join(' '),
  commands: commands.map((one) => ({ word: one.words.at(-1) ?? '', help: one.summary })),
  options,
  values: expected[0]?.values ?? null,
});

/** Returns every position at which a word can be completed. */
export const places = (): Place[] => withAllBelow(commandTree()).map(place);

/** Puts a text into single quotes of a shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
