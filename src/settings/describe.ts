/** Texts of settings, for `--help`, docs/settings.md, `stackside serve --print-settings` and the log. */
import { type Settings, settings, settingsOfCommand } from './config.ts';
import { type CommandName, defaultOf, type Grouped, type Setting, type Source, withoutCredentials } from './setting.ts';

/** Returns the printed name of a setting, such as `api_port`. */
export const printedName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const isNothing = (value: unknown): boolean => value === null || value === '';

/** Returns the printable text of a value, `<set>` for a secret; null if there is no value. */
export function printedValue({ secret, show }: Setting, value: unknown): string | null {
  if (isNothing(value)) return null;
  if (secret === true) return '<set>';
  return withoutCredentials(show === undefined ? String(value) : show(value));
}

/** Returns a value for JSON. Numbers and booleans are unchanged unless the setting declares a text. */
export function jsonValue(declared: Setting, value: unknown): unknown {
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return isPlain && declared.show === undefined && declared.secret !== true ? value : printedValue(declared, value);
}

/** Returns the text of a setting's default for a command; null if it has none. */
export function defaultText(declared: Setting, command: CommandName): string | null {
  const { absent, except } = declared;
  return except?.[command]?.absent ?? printedValue(declared, defaultOf(declared, command)) ?? absent ?? null;
}

/** Returns the help of a setting for a command. */
export const helpOf = ({ help, except }: Setting, command: CommandName): string => except?.[command]?.help ?? help;

/** Sources of settings' values by name. A missing setting has its default, or the program set it. */
export type Sources = Readonly<Record<string, Source>>;

/** Returns the settings of a server with their values, texts and sources. The text is null without a value. */
export const serverSettings = (settings: object, sources: Sources) =>
  settingsOfCommand('serve').map(([name, declared]) => {
    const value = (settings as Record<string, unknown>)[name];
    const text = printedValue(declared, value) ?? defaultText(declared, 'serve');
    return { declared, group: declared.group, name: printedName(name), value, text, source: sources[name] ?? null };
  });

/** Returns the names of all variables that set a setting. */
export const variableNames = ({ variables, hostAndPort = [] }: Grouped): string[] => [
  ...variables,
  ...hostAndPort.map(([host, ...others]) => `${host} with ${others.join(', ')}`),
];

/** Returns the settings of a server that differ from their defaults, for the log. */
export function changedSettings(used: Settings): Record<string, unknown> {
  const changed = settingsOfCommand('serve').filter(([name, declared]) => {
    return (used as Record<string, unknown>)[name] !== defaultOf(declared, 'serve');
  });
  return Object.fromEntries(
    changed.map(([name, declared]) => [
      printedName(name),
      jsonValue(declared, (used as Record<string, unknown>)[name]),
    ]),
  );
}

/** Returns the variables that start with Stackside's prefix. */
export const ownVariables = (): string[] => Object.values(settings).map(({ variables: [own] }) => own);
