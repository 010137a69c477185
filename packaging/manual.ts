/** The manual page, in the language of man(7), from the declarations of commands and settings. */
import { DEFAULT_COMMAND, exitCodes } from '../src/commands/program.ts';
import { settings } from '../src/settings/config.ts';
import { defaultText, variableNames } from '../src/settings/describe.ts';
import type { Grouped } from '../src/settings/setting.ts';
import { type ArgumentEntry, type CommandEntry, commandTree, type OptionEntry, withAllBelow } from './command-tree.ts';

/** A text as a line of the page: nothing of it is taken for a request or an escape. */
function escaped(text: string): string {
  const line = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^[.']/.test(line) ? `\\&${line}` : line;
}

const bold = (text: string): string => `\\fB${escaped(text).replace(/^\\&/, '')}\\fR`;

/** A text as one argument of a request. */
const quoted = (text: string): string => `"${escaped(text).replaceAll('"', '\\(dq')}"`;

const heading = (text: string): string => `.SH ${quoted(text.toUpperCase())}`;
const subheading = (text: string): string => `.SS ${quoted(text)}`;

/** A term with its explanation. */
const term = (name: string, ...lines: string[]): string => ['.TP', name, ...lines.map(escaped)].join('\n');

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

function argumentText({ name, isRequired, isVariadic }: ArgumentEntry): string {
  const word = isVariadic ? `${name}...` : name;
  return isRequired ? `<${word}>` : `[${word}]`;
}

/** The line that starts a command: `stackside backup <file> [options]`. */
const synopsis = (entry: CommandEntry): string =>
  ['stackside', ...entry.words, ...entry.arguments.map(argumentText), '[options]'].join(' ');

const optionTerm = ({ flags, help }: OptionEntry): string => term(bold(flags), sentence(help));

/** The flags of the settings that a command takes, in one sentence. */
function settingsLine(options: readonly OptionEntry[]): string[] {
  const flags = options.flatMap(({ long, setting }) => (setting === null ? [] : [bold(long)]));
  return flags.length === 0 ? [] : ['.PP', `Settings: ${flags.join(', ')}.`];
}

function commandLines(entry: CommandEntry): string[] {
  const own = entry.options.filter(({ setting, long }) => setting === null && long !== '--help');
  return [
    subheading(synopsis(entry)),
    escaped(sentence(entry.summary)),
    ...entry.arguments.map((argument) => term(escaped(argumentText(argument)), sentence(argument.help))),
    ...own.map(optionTerm),
    ...settingsLine(entry.options),
    ...(entry.example === null ? [] : ['.PP', `Example: ${bold(entry.example)}`]),
  ];
}

function settingTerm(declared: Grouped): string {
  const { flag, help, accepts, commands } = declared;
  const [first = 'serve'] = commands;
  const absent = defaultText(declared, first);
  const names = [...(flag === null ? [] : [flag]), ...variableNames(declared)];
  return term(
    names.map(bold).join(', '),
    sentence(help),
    `Accepted: ${accepts}.`,
    ...(absent === null ? [] : [`Default: ${absent}.`]),
    `Commands: ${commands.join(', ')}.`,
  );
}

const settingLines = (): string[] =>
  [...Map.groupBy(Object.values(settings) as Grouped[], ({ group }) => group)].flatMap(([group, declared]) => [
    subheading(group),
    ...declared.map(settingTerm),
  ]);

/**
 * The page for section 1.
 * @param version of the program
 * @param time of the source
 */
export function manualPage(version: string, time: Date): string {
  const tree = commandTree();
  const commands = tree.commands.flatMap(withAllBelow).filter(({ commands: below }) => below.length === 0);
  const date = time.toISOString().slice(0, 10);
  return `${[
    `.TH STACKSIDE 1 "${date}" ${quoted(`Stackside ${version}`)} "User Commands"`,
    // A flag is not broken at its hyphens.
    '.nh',
    heading('Name'),
    `stackside \\- ${escaped(tree.summary)}`,
    heading('Synopsis'),
    `${bold('stackside')} [\\fIcommand\\fR] [options]`,
    heading('Description'),
    escaped('Stackside runs next to a Stacks node, indexes its events, and serves them over HTTP.'),
    `Without a command, stackside runs ${bold(DEFAULT_COMMAND)}.`,
    'A flag beats a variable, and a variable beats the default.',
    `${bold('stackside serve --print-settings')} shows the values in use and the source of each.`,
    heading('Options'),
    ...tree.options.map(optionTerm),
    heading('Commands'),
    ...commands.flatMap(commandLines),
    heading('Settings'),
    ...settingLines(),
    heading('Exit status'),
    ...exitCodes.map(([code, meaning]) => term(bold(String(code)), sentence(meaning))),
  ].join('\n')}\n`;
}
