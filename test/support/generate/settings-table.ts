/** The tables of settings in docs/settings.md, from their declarations: `bun test/support/generate/settings-table.ts` writes them. */
import { join } from 'node:path';
import { settings } from '../../../src/settings/config.ts';
import { defaultText, printedValue } from '../../../src/settings/describe.ts';
import { type CommandName, defaultOf, type Grouped } from '../../../src/settings/setting.ts';

export const settingsPage = join(import.meta.dir, '../../../docs/settings.md');

const BEGIN = '<!-- settings: written by test/support/generate/settings-table.ts -->\n';
const END = '<!-- end of settings -->';

const inCell = (text: string): string => text.replace(/\|/g, '\\|');
const code = (text: string): string => `\`${inCell(text)}\``;

/** The default for a command: a value as code, words as words. */
function defaultCell(declared: Grouped, command: CommandName): string {
  if (declared.except?.[command]?.absent !== undefined) return inCell(defaultText(declared, command) ?? '');
  const value = printedValue(declared, defaultOf(declared, command));
  return value === null ? inCell(declared.absent ?? '') : code(value);
}

/** Returns the default, followed by the defaults of commands that differ. */
function defaultsText(declared: Grouped): string {
  const [first = 'serve', ...others] = declared.commands;
  const fallback = defaultCell(declared, first);
  const exceptions = [...Map.groupBy(others, (command) => defaultCell(declared, command))]
    .filter(([text]) => text !== fallback)
    .map(([text, commands]) => `${text} for ${commands.map(code).join(', ')}`);
  return [fallback, ...exceptions].filter((text) => text !== '').join('; ');
}

function rowOf(declared: Grouped): string {
  const { flag, variables, hostAndPort = [], commands, accepts, help } = declared;
  const cells = [
    flag === null ? '' : code(flag),
    [
      ...variables.map(code),
      ...hostAndPort.map(([host, ...others]) => `${code(host)} with ${others.map(code).join(', ')}`),
    ].join(', '),
    defaultsText(declared),
    inCell(accepts),
    commands.map(code).join(', '),
    inCell(help),
  ];
  return `| ${cells.join(' | ')} |\n`;
}

const HEAD = '| flag | variables | default | accepted | commands | |\n|---|---|---|---|---|---|\n';

const tables = (): string =>
  [...Map.groupBy(Object.values(settings) as Grouped[], ({ group }) => group)]
    .map(([group, declared]) => `\n## ${group}\n\n${HEAD}${declared.map(rowOf).join('')}`)
    .join('');

/** The page with the tables of the present settings in it. */
export async function pageWithSettings(): Promise<string> {
  const page = await Bun.file(settingsPage).text();
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  return `${page.slice(0, begin)}${tables()}\n${page.slice(page.indexOf(END))}`;
}

if (import.meta.main) await Bun.write(settingsPage, await pageWithSettings());
