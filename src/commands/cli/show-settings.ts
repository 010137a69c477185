/** `stackside serve --print-settings`: the values in use, and their sources. */
import type { ResolvedSettings } from '../../settings/config.ts';
import { jsonValue, serverSettings } from '../../settings/describe.ts';
import type { Source } from '../../settings/setting.ts';

export type SettingsFormat = 'table' | 'json';

const rowsOf = ({ settings, sources }: ResolvedSettings<'serve'>) =>
  serverSettings(settings, sources).map(({ declared, value, text, ...row }) => ({
    ...row,
    text: text ?? '-',
    json: jsonValue(declared, value),
  }));
type Row = ReturnType<typeof rowsOf>[number];

const sourceText = (source: Source): string => source?.name ?? 'default';

/** Maximum width of the values' column; only longer values exceed it. */
const MAX_VALUE_WIDTH = 40;

function tableOf(rows: readonly Row[]): string {
  const name = Math.max(...rows.map((row) => row.name.length));
  const value = Math.min(MAX_VALUE_WIDTH, Math.max(...rows.map((row) => row.text.length)));
  let group = '';
  let table = '';
  for (const row of rows) {
    if (row.group !== group) table += `${group === '' ? '' : '\n'}${row.group}:\n`;
    group = row.group;
    table += `  ${row.name.padEnd(name)}  ${row.text.padEnd(value)}  ${sourceText(row.source)}\n`;
  }
  return table;
}

/** JSON with the value of each setting, its source (`flag`, `variable` or `default`), and the name of the flag or variable. */
const jsonOf = (rows: readonly Row[]): string =>
  `${JSON.stringify(
    Object.fromEntries(
      rows.map(({ name, json, source }) => [
        name,
        source === null
          ? { value: json, source: 'default' }
          : { value: json, source: source.kind, [source.kind]: source.name },
      ]),
    ),
    null,
    2,
  )}\n`;

/** Prints a server's settings. A secret is printed as `<set>`. */
export function printSettings(resolved: ResolvedSettings<'serve'>, format: SettingsFormat): void {
  const rows = rowsOf(resolved);
  process.stdout.write(format === 'json' ? jsonOf(rows) : tableOf(rows));
}
