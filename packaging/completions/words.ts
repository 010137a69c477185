/** What shells complete, in the same words for each of them. */
import { type CommandEntry, commandTree, type OptionEntry, type Values, withAllBelow } from '../command-tree.ts';

/** A place in the command line: the program, or a command that was named. */
export interface Place {
  /** The words so far, separated by blanks; empty for the program itself. */
  path: string;
  /** Commands that may follow, with what they do. */
  commands: { word: string; help: string }[];
  options: OptionEntry[];
  /** What stands in the place of arguments; null where none is expected. */
  values: Values | null;
}

const place = ({ words, commands, options, arguments: expected }: CommandEntry): Place => ({
  path: words.join(' '),
  commands: commands.map((one) => ({ word: one.words.at(-1) ?? '', help: one.summary })),
  options,
  values: expected[0]?.values ?? null,
});

/** Every place in which something can be completed. */
export const places = (): Place[] => withAllBelow(commandTree()).map(place);

/** A text in single quotes of a shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
