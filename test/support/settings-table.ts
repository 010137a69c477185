/** The table of settings in docs/operators.md, made of their declarations: `bun test/support/settings-table.ts` writes it. */
import { join } from 'node:path';
import { settings } from '../../src/settings/config.ts';

export const operatorsPage = join(import.meta.dir, '../../docs/operators.md');

const BEGIN = '<!-- settings: written by test/support/settings-table.ts -->\n';
const END = '<!-- end of settings -->';

const code = (text: string): string => `\`${text.replace(/\|/g, '\\|')}\``;

/** The page with the table of the present settings in it. */
export async function pageWithSettings(): Promise<string> {
  const page = await Bun.file(operatorsPage).text();
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  const rows = Object.values(settings).map(({ flag, variables, hostAndPort, type, help, accepts }) => {
    const pairs = (hostAndPort ?? []).map(([host, port]) => `${code(host)} with ${code(port)}`);
    const value = type.default === null ? '' : code(String(type.default));
    return [
      flag === null ? '' : code(flag),
      [...variables.map(code), ...pairs].join(', '),
      value,
      accepts.replace(/\|/g, '\\|'),
      help.replace(/\|/g, '\\|'),
    ];
  });
  const head = ['flag', 'variables', 'default', 'accepted', ''];
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`);
  return `${page.slice(0, begin)}${lines.join('')}${page.slice(page.indexOf(END))}`;
}

if (import.meta.main) await Bun.write(operatorsPage, await pageWithSettings());
