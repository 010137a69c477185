/**
 * The table in docs/migration.md of answers that differ from the API that Stackside replaces, generated from the
 * declarations that `stackside compare` uses to classify differences: `bun test/support/generate/known-differences.ts` writes it.
 */
import { join } from 'node:path';
import { referenceReasons } from '../../../src/commands/compare/known-differences.ts';

export const migrationPage = join(import.meta.dir, '../../../docs/migration.md');

const BEGIN = '<!-- known differences: written by test/support/generate/known-differences.ts -->\n';
const END = '<!-- end of known differences -->';

/** The page with the present table in it. */
export async function pageWithKnownDifferences(): Promise<string> {
  const page = await Bun.file(migrationPage).text();
  const rows = referenceReasons.map(
    ({ routes, here, there }) => `| ${routes.map((route) => `\`${route}\``).join(', ')} | ${here} | ${there} |\n`,
  );
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  return `${page.slice(0, begin)}\n| routes | Stackside | the reference API |\n|---|---|---|\n${rows.join('')}\n${page.slice(page.indexOf(END))}`;
}

if (import.meta.main) await Bun.write(migrationPage, await pageWithKnownDifferences());
