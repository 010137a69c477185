/** The tables of log events in docs/logs.md, made of their declarations: `bun test/support/generate/log-table.ts` writes them. */
import { join } from 'node:path';
import { eventMeanings, levelOf, serviceMeanings } from '../../../src/log.ts';

export const logPage = join(import.meta.dir, '../../../docs/logs.md');

const BEGIN = '<!-- log events: written by test/support/generate/log-table.ts -->\n';
const END = '<!-- end of log events -->';

const HEAD = '| log line | level | meaning and remedy |\n|---|---|---|\n';

function tableOf(part: string, meanings: Readonly<Record<string, string>>): string {
  const rows = Object.entries(meanings).map(
    ([event, meaning]) => `| \`${event}\` | ${levelOf[event as keyof typeof levelOf]} | ${meaning} |\n`,
  );
  return `\n### ${part}\n\n${HEAD}${rows.join('')}`;
}

const services = (): string => {
  const rows = Object.entries(serviceMeanings).map(([service, meaning]) => `| \`${service}\` | ${meaning} |\n`);
  return `\n### Services\n\n| service | meaning and remedy of \`service_failing\` |\n|---|---|\n${rows.join('')}`;
};

/** The page with the tables of the present log events in it. */
export async function pageWithLogEvents(): Promise<string> {
  const page = await Bun.file(logPage).text();
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  const tables = Object.entries(eventMeanings).map(([part, meanings]) => tableOf(part, meanings));
  return `${page.slice(0, begin)}${tables.join('')}${services()}\n${page.slice(page.indexOf(END))}`;
}

if (import.meta.main) await Bun.write(logPage, await pageWithLogEvents());
