/** Declares commands. Their flags, help and values derive from their settings. */
import { Command, type ErrorOptions, Help, Option, type ParseOptionsResult } from 'commander';
import { requireNoArchive } from '../../archive/archive-directory.ts';
import { lazy } from '../../base/cache.ts';
import { EXIT, OperatorError } from '../../base/errors.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { utcMicroseconds } from '../../base/utc-time.ts';
import { type ResolvedSettings, readSettingsOf, type SettingName, settingsOfCommand } from '../../settings/config.ts';
import { defaultText, helpOf, ignoredVariables, variableNames } from '../../settings/describe.ts';
import type { CommandName, Grouped } from '../../settings/setting.ts';

/** An argument such as `<file...>`, with its help, and what it must be if an empty text is refused. */
export type Argument = readonly [syntax: string, help?: string, accepts?: string];

export interface Declaration<C extends CommandName, Options, Arguments extends readonly unknown[]> {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  example?: string;
  settingsOf: C;
  /** Whether stderr is a log, which then warns of unknown variables. */
  logs?: boolean;
  arguments?: readonly Argument[];
  /** Options that only this command has. They have no variables. */
  options?: readonly Option[];
  /** Settings that `--help` shows; `--help-all` shows all. Omitted if `--help` shows all. */
  mainSettings?: readonly SettingName[];
  /**
   * Runs the command. The module that does the work is imported here, so that `--help` doesn't wait for it.
   * @returns false if it found a difference, which sets the exit code
   */
  run(resolved: ResolvedSettings<C>, options: Options, ...args: Arguments): Promise<boolean> | Promise<void>;
}

const isSwitch = (flag: string): boolean => !/[<[]/.test(flag);

const descriptionOf = (declared: Grouped, command: CommandName): string => {
  const { flag } = declared;
  const absent = flag !== null && isSwitch(flag) ? null : defaultText(declared, command);
  return `${helpOf(declared, command)}${absent === null ? '' : ` (default: ${absent})`}`;
};

function toOption(flag: string, declared: Grouped, command: CommandName): Option {
  const option = new Option(flag);
  // Made on demand, since only help needs it.
  const description = lazy(() => `${descriptionOf(declared, command)}\n${variableNames(declared).join(', ')}`);
  Object.defineProperty(option, 'description', { get: description });
  if (declared.repeatable === true) option.argParser((text, prior?: string) => (prior ? `${prior} ${text}` : text));
  return option.helpGroup(`${declared.group}:`);
}

/** The option of a flag, and the one of its second spelling. Only one of the two may be given. */
const spellingsOf = (setting: SettingName, option: Option, alias: string | undefined): SettingFlag[] => [
  { setting, option },
  ...(alias === undefined ? [] : [{ setting, option: new Option(alias).hideHelp().conflicts(option.attributeName()) }]),
];

/** A setting without a flag, as help prints it. */
interface VariableHelp {
  variable: string;
  description: string;
}

const variablesOf = (command: CommandName): VariableHelp[] =>
  settingsOfCommand(command).flatMap(([, declared]) => {
    if (declared.flag !== null) return [];
    const [variable = '', ...others] = variableNames(declared);
    const description = descriptionOf(declared, command);
    return [{ variable, description: others.length === 0 ? description : `${description}\n${others.join(', ')}` }];
  });

/** Indentation of descriptions below their term, in columns. */
const BELOW = 6;

/** Help that also has the settings set by variables only. It fits the width of the terminal, or 80 columns. */
class CommandHelp extends Help {
  constructor(private readonly variables: readonly VariableHelp[]) {
    super();
  }

  override visibleOptions(command: Command): Option[] {
    const hidden = (command as OwnCommand).onlyInFullHelp;
    return super.visibleOptions(command).filter((option) => hidden?.has(option) !== true);
  }

  override padWidth(command: Command, helper: Help): number {
    return Math.max(super.padWidth(command, helper), ...this.variables.map(({ variable }) => variable.length));
  }

  override formatHelp(command: Command, helper: Help): string {
    const help = super.formatHelp(command, helper);
    if (this.variables.length === 0) return help;
    const width = helper.padWidth(command, helper);
    const items = this.variables.map(({ variable, description }) =>
      helper.formatItem(variable, width, description, helper),
    );
    return `${help}\n${helper.formatItemList('Set by variables only:', items, helper).join('\n')}`;
  }

  /** Prints descriptions below terms that leave too little room on their line. */
  override formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    const width = this.helpWidth ?? 80;
    // Commander puts two blanks before each of both columns.
    if (width - termWidth - 4 >= this.minWidthToWrap) return super.formatItem(term, termWidth, description, helper);
    return `  ${term}\n${helper.boxWrap(description, width - BELOW).replace(/^/gm, ' '.repeat(BELOW))}`;
  }
}

/** The command as the user typed it, such as `stackside hooks add`. */
const calledBy = (command: Command): string =>
  command.parent === null ? command.name() : `${calledBy(command.parent)} ${command.name()}`;

/** Commander's error texts: the problem, and sometimes a similar name in brackets on the next line. */
const COMMANDER_ERROR = /^error: (.*?)(?:\n\((.*)\))?$/s;

/** A comment of SQL at the start of a text: hyphens and a blank, or a line that goes on. */
const BEGINS_AS_COMMENT = /^--(?:[ \t]|[^=\n]*\n)/;

/** A command that reports wrong command lines like all errors of the operator: with the problem and a remedy. */
export class OwnCommand extends Command {
  /** The example in its help; null without one. */
  example: string | null = null;
  /** The command that declares its settings; null if it has none. */
  settingsOf: CommandName | null = null;

  /** The options that only `--help-all` shows, with the settings that only variables set; null if help shows all. */
  onlyInFullHelp: ReadonlySet<Option> | null = null;

  /** Reports the first argument as an unknown command, with a similar one. Commander's types lack it. */
  declare readonly unknownCommand: () => never;

  override createCommand(name?: string): OwnCommand {
    return new OwnCommand(name);
  }

  /** Parses options. A text such as a query that starts with the comment `-- of today` is an argument, not an option. */
  override parseOptions(args: string[]): ParseOptionsResult {
    return super.parseOptions(args.map((text) => (BEGINS_AS_COMMENT.test(text) ? ` ${text}` : text)));
  }

  override createHelp(): Help {
    return Object.assign(
      new CommandHelp(this.settingsOf === null || this.onlyInFullHelp !== null ? [] : variablesOf(this.settingsOf)),
      this.configureHelp(),
    );
  }

  override error(message: string, options?: ErrorOptions): never {
    // A command with subcommands takes a mistyped name for an argument.
    if (options?.code === 'commander.excessArguments' && this.commands.length > 0) return this.unknownCommand();
    const [, problem = message, similar] = COMMANDER_ERROR.exec(message) ?? [];
    const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replace(/\.$/, '')}.`;
    const help = `Run ${calledBy(this)} --help to see the arguments and options.`;
    throw new OperatorError(sentence, similar === undefined ? help : `${similar} ${help}`);
  }
}

/**
 * Runs a command on its data directory.
 * @param data null for a command without one
 * @throws OperatorError if a file or disk fails, or if the directory is an archive, into which the command would write
 */
async function onData<T>(data: string | null, work: () => T): Promise<Awaited<T>> {
  try {
    if (data !== null) requireNoArchive(data);
    return await work();
  } catch (error) {
    throw (data === null ? null : operatorErrorOf(error, data)) ?? error;
  }
}

interface SettingFlag {
  setting: SettingName;
  option: Option;
}

/** The settings given on the command line, without the values that Commander sets for other flags (true for each `--no-x`). */
const flagValues = (command: Command, flags: readonly SettingFlag[]): Record<string, unknown> =>
  Object.fromEntries(
    flags
      .map(({ setting, option }) => [setting, option.attributeName()] as const)
      .filter(([, attribute]) => command.getOptionValueSource(attribute) === 'cli')
      .map(([setting, attribute]) => [setting, command.getOptionValue(attribute)]),
  );

/**
 * Declares a command, and infers the types of its settings, options and arguments.
 * @param settingsOf the command that declares its settings; its name by default
 */
export const command = <C extends CommandName, Options = unknown, Arguments extends readonly unknown[] = []>(
  settingsOf: C,
  declared: Omit<Declaration<C, Options, Arguments>, 'name' | 'settingsOf'> & { name?: string },
): Declaration<C, Options, Arguments> => ({ name: settingsOf, ...declared, settingsOf });

/** Warns on stderr about variables that have no effect. */
export function warnOfIgnoredVariables(): void {
  for (const { variable, reason } of ignoredVariables(process.env)) {
    process.stderr.write(`${variable} has no effect. ${reason}\n`);
  }
}

/** Shortens the help of a command to its main settings, and adds an option that shows all. */
function withHelpAll(command: OwnCommand, flags: readonly SettingFlag[], main: readonly SettingName[]): void {
  const others = flags.filter(({ setting }) => !main.includes(setting));
  command.onlyInFullHelp = new Set(others.map(({ option }) => option));
  command.addHelpText('after', () =>
    command.onlyInFullHelp === null ? '' : `\n${calledBy(command)} --help-all shows ${others.length} more settings.`,
  );
  command.addOption(new Option('--help-all', 'Show all settings'));
  command.on('option:help-all', () => {
    command.onlyInFullHelp = null;
    command.help();
  });
}

/** Adds a command that only has subcommands. */
export const addGroup = (
  program: OwnCommand,
  {
    name,
    summary,
    example,
    description = summary,
  }: { name: string; summary: string; example: string; description?: string },
): OwnCommand =>
  program.command(name).summary(summary).description(description).addHelpText('after', `\nExample:\n  ${example}`);

/** @throws OperatorError if an argument is empty that must not be */
function requireNoneEmpty(expected: readonly Argument[], args: readonly unknown[]): void {
  for (const [index, [syntax, , accepts]] of expected.entries()) {
    if (accepts === undefined || ![args[index]].flat().includes('')) continue;
    throw new OperatorError(`${syntax} is "".`, `It must be ${accepts}.`);
  }
}

/** Adds a command to the program, or to another command. */
export function addCommand<C extends CommandName, Options, Arguments extends readonly unknown[]>(
  parent: OwnCommand,
  declared: Declaration<C, Options, Arguments>,
): OwnCommand {
  const { name, summary, example, settingsOf, arguments: expected = [], options = [], logs = false, run } = declared;
  const { mainSettings } = declared;
  const command = parent.command(name).summary(summary).description(summary);
  if (example !== undefined) {
    command.addHelpText('after', `\nExample:\n  ${example}`);
    command.example = example;
  }
  for (const [syntax, help] of expected) command.argument(syntax, help);
  for (const option of options) command.addOption(option);
  const flags = settingsOfCommand(settingsOf).flatMap(([setting, item]): SettingFlag[] =>
    item.flag === null ? [] : spellingsOf(setting, toOption(item.flag, item, settingsOf), item.alias),
  );
  for (const { option } of flags) command.addOption(option);
  command.settingsOf = settingsOf;
  if (mainSettings !== undefined) withHelpAll(command, flags, mainSettings);

  command.action(async (...callArguments: unknown[]) => {
    // Commander passes the arguments, the options and the command.
    const args = callArguments.slice(0, -2) as unknown as Arguments;
    requireNoneEmpty(expected, args);
    const resolved = readSettingsOf(settingsOf, flagValues(command, flags), process.env);
    if (!logs) warnOfIgnoredVariables();
    const { data = null } = resolved.settings as { data?: string };
    const agrees = await onData(data, () => run(resolved, command.opts() as Options, ...args));
    if (agrees === false) process.exitCode = EXIT.difference;
  });
  return command;
}

/**
 * Makes an option parse its value.
 * @param accepts description of accepted values, to follow "It must be"
 * @param read returns undefined for a text that is not accepted
 * @returns the option
 */
export const checked = <T>(option: Option, accepts: string, read: (text: string) => T | undefined): Option =>
  option.argParser((text) => {
    const value = read(text);
    if (value === undefined) throw new OperatorError(`${option.long} is "${text}".`, `It must be ${accepts}.`);
    return value;
  });

/** An option with the path of a file. @param accepts description of accepted values, if there are others than a file */
export const fileOption = (flag: string, help: string, accepts = 'a file'): Option =>
  checked(new Option(flag, help), accepts, (text) => (text === '' ? undefined : text));

/** Maximum of options in seconds: a day. Timers of more than 24 days would end at once. */
export const MAX_SECONDS = 86_400;

/**
 * An option with a whole number.
 * @param fallback default; undefined for none
 */
export function numberOption(
  flag: string,
  help: string,
  min: number,
  fallback?: number,
  max: number = Number.MAX_SAFE_INTEGER,
): Option {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `, ${min} or greater` : ` from ${min} to ${max}`;
  return checked(new Option(flag, help), `a whole number${bounds}`, (text) => {
    const number = Number(text);
    return /^\d+$/.test(text) && number >= min && number <= max ? number : undefined;
  }).default(fallback);
}

const MICROSECONDS = 1_000_000;

/** An option with a time. Its value is in Unix seconds. */
export const timeOption = (flag: string, help: string): Option =>
  checked(new Option(flag, help), 'a time such as 2027-01-31T12:00:00Z', (text) => {
    const time = utcMicroseconds(text);
    return time === null ? undefined : Math.floor(time / MICROSECONDS);
  });

/** An option with one of a few words. */
export const choiceOption = (flag: string, help: string, words: readonly string[]): Option =>
  checked(new Option(flag, help).choices(words), `one of ${words.join(', ')}`, (text) =>
    words.find((word) => word === text),
  );

/** An option without a value. */
export const switchOption = (flag: string, help: string): Option => new Option(flag, help).default(false, 'off');

/** The option for JSON in place of text. @param help for a command that prints several values, or only JSON */
export const jsonOption = (help = 'Print JSON'): Option => switchOption('--json', help);

/** The option `--json` of a command that prints nothing but JSON. */
export const onlyJsonOption = (): Option => jsonOption('Print JSON, which this command always does');
