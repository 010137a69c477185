/** The words that each shell completes. */
import { DEFAULT_COMMAND } from '../../src/commands/program.ts';
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

/** Returns the options at a position. The program itself also takes the default command's options. */
function optionsAt({ words, options, commands }: CommandEntry): OptionEntry[] {
  if (words.length > 0) return options;
  const others = commands.find((below) => below.words[0] === DEFAULT_COMMAND)?.options ?? [];
  return [...options, ...others.filter(({ long }) => options.every((own) => own.long !== long))];
}

const place = (entry: CommandEntry): Place => ({
  path: entry.words.join(' '),
  commands: entry.commands.map((one) => ({ word: one.words.at(-1) ?? '', help: one.summary })),
  options: optionsAt(entry),
  values: entry.arguments[0]?.values ?? null,
});

/** Returns every position at which a word can be completed. */
export const places = (): Place[] => withAllBelow(commandTree()).map(place);

/** Puts a text into single quotes of a shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
