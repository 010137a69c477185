/** The tables of views in docs/sql.md, from their declarations: `bun test/support/generate/view-tables.ts` writes them. */
import { join } from 'node:path';
import type { View } from '../../../src/store/views/view.ts';
import { views } from '../../../src/store/views/views.ts';

export const sqlPage = join(import.meta.dir, '../../../docs/sql.md');

const BEGIN = '<!-- views: written by test/support/generate/view-tables.ts -->\n';
const END = '<!-- end of views -->';

const inCell = (text: string): string => text.replace(/\|/g, '\\|');

function tableOf({ name, help, columns, indexed }: View): string {
  const rows = Object.entries(columns)
    .filter(([, { isDerived = false }]) => !isDerived)
    .map(
      ([column, { type, help }]) =>
        `| \`${column}\` | ${type} | ${indexed.includes(column) ? 'yes' : ''} | ${inCell(help)} |\n`,
    );
  return `\n### \`${name}\`\n\n${help}\n\n| column | type | indexed | |\n|---|---|---|---|\n${rows.join('')}`;
}

/** The page with the tables of the present views in it. */
export async function pageWithViews(): Promise<string> {
  const page = await Bun.file(sqlPage).text();
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  return `${page.slice(0, begin)}${views.map(tableOf).join('')}\n${page.slice(page.indexOf(END))}`;
}

if (import.meta.main) await Bun.write(sqlPage, await pageWithViews());
