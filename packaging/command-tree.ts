/** The commands and options for the manual and the completions, from the declarations of commands and settings. */
import type { TSchema } from '@sinclair/typebox';
import type { Argument, Command, Option } from 'commander';
import { OwnCommand } from '../src/commands/cli/command.ts';
import { createProgram } from '../src/commands/program.ts';
import { settings } from '../src/settings/config.ts';
import type { Grouped } from '../src/settings/setting.ts';

/** The possible values of an option: one of a few words, a path, or anything. */
export type Values = { kind: 'words'; words: readonly string[] } | { kind: 'file' | 'directory' | 'other' };

export interface OptionEntry {
  /** As help shows it: `--mode <mode>`. */
  flags: string;
  long: string;
  short: string | null;
  help: string;
  /** Null for an option without a value. */
  values: Values | null;
  /** The setting that the option sets; null if the option belongs to only one command. */
  setting: Grouped | null;
}

export interface ArgumentEntry {
  name: string;
  help: string;
  values: Values;
  isRequired: boolean;
  isVariadic: boolean;
}

export interface CommandEntry {
  /** The words of the command: `['hooks', 'add']`; none for the program itself. */
  words: readonly string[];
  summary: string;
  /** Such as `stackside check --data /srv/stacks`; null if the declaration has no example. */
  example: string | null;
  arguments: ArgumentEntry[];
  options: OptionEntry[];
  /** Commands below it. */
  commands: CommandEntry[];
}

const byFlag = new Map(
  (Object.values(settings) as Grouped[]).flatMap((declared) =>
    declared.flag === null ? [] : [[declared.flag, declared]],
  ),
);

/** Returns the words that a schema accepts; none if it also accepts other values. */
function wordsOf({ anyOf = [] }: TSchema): string[] {
  const literals = (anyOf as TSchema[]).filter(({ type }) => type !== 'null').map((one) => one.const as unknown);
  return literals.every((word) => typeof word === 'string') ? literals : [];
}

const VALUE = /[<[]([^>\].]+)(?:\.\.\.)?[>\]]/;

/** The parts of placeholders that stand for a value. The others are values: `<on|off|date>` accepts `on`. */
const NAMED = new Set(['date', 'entry', 'id', 'name', 'number']);

/** Returns the kind of value behind a placeholder such as `<file>`. */
function placeholderValues(syntax: string): Values {
  const name = VALUE.exec(syntax)?.[1] ?? '';
  const parts = name.split('|');
  if (name === 'file') return { kind: 'file' };
  if (name === 'archive' || parts.includes('dir')) return { kind: 'directory' };
  const words = parts.length === 1 ? [] : parts.filter((part) => !NAMED.has(part));
  return words.length === 0 ? { kind: 'other' } : { kind: 'words', words };
}

function valuesOf(option: Option, declared: Grouped | null): Values | null {
  if (option.isBoolean() || !VALUE.test(option.flags)) return null;
  const words = option.argChoices ?? (declared === null ? [] : wordsOf(declared.type));
  return words.length > 0 ? { kind: 'words', words } : placeholderValues(option.flags);
}

function optionEntry(option: Option): OptionEntry {
  const setting = byFlag.get(option.flags) ?? null;
  return {
    flags: option.flags,
    long: option.long ?? option.flags,
    short: option.short ?? null,
    // The names of variables are on separate lines.
    help: option.description.split('\n')[0] ?? '',
    values: valuesOf(option, setting),
    setting,
  };
}

const argumentEntry = (argument: Argument): ArgumentEntry => ({
  name: argument.name(),
  help: argument.description,
  values: placeholderValues(`<${argument.name()}>`),
  isRequired: argument.required,
  isVariadic: argument.variadic,
});

function commandEntry(command: Command, words: readonly string[]): CommandEntry {
  if (command instanceof OwnCommand) command.onlyInFullHelp = null;
  const helper = command.createHelp();
  return {
    words,
    summary: command.summary() || command.description(),
    example: command instanceof OwnCommand ? command.example : null,
    arguments: command.registeredArguments.map(argumentEntry),
    options: helper.visibleOptions(command).map(optionEntry),
    commands: command.commands.map((below) => commandEntry(below, [...words, below.name()])),
  };
}

/** Returns the program with all its commands. */
export const commandTree = (): CommandEntry => commandEntry(createProgram(), []);

/** Returns a command and all commands below it. */
export const withAllBelow = (entry: CommandEntry): CommandEntry[] => [entry, ...entry.commands.flatMap(withAllBelow)];
