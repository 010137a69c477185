/** Settings in the docs, the help and the commands all come from one declaration. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { OwnCommand } from '../../src/commands/cli/command.ts';
import { createProgram } from '../../src/commands/program.ts';
import { readSettings, readSettingsOf, settings, settingsOfCommand } from '../../src/settings/config.ts';
import {
  changedSettings,
  defaultText,
  ignoredVariables,
  jsonValue,
  printedValue,
  testSupportVariables,
  testVariables,
} from '../../src/settings/describe.ts';
import type { Grouped } from '../../src/settings/setting.ts';
import { pageWithSettings, settingsPage } from '../support/generate/settings-table.ts';

const root = join(import.meta.dir, '../..');
const pages = ['README.md', 'CONTRIBUTING.md', ...new Bun.Glob('docs/*.md').scanSync(root)].map((name) => ({
  name,
  text: readFileSync(join(root, name), 'utf8'),
}));
const program = createProgram();

/** Returns a command that runs something, and its subcommands. The subcommands of `hooks` all take the same settings. */
function commandsNamed(name: string): readonly Command[] {
  const command = program.commands.find((item) => item.name() === name.split(' ')[0]);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  return [command, ...command.commands].filter((item) => (item as OwnCommand).settingsOf !== null);
}

/**
 * Returns the commands with the settings of that name. `archive key` has different settings than the other `archive`
 * commands, and `devnet mine` than `devnet`.
 */
const takingSettingsOf = (name: string): readonly Command[] =>
  commandsNamed(name).filter((item) => (item as OwnCommand).settingsOf === name);

const allSettings = Object.values(settings) as Grouped[];
const commandNames = [...new Set(allSettings.flatMap(({ commands }) => commands))];

const takes = ({ options }: Command, flag: string): boolean =>
  flag === '--help' || options.some(({ long }) => long === flag);

describe('docs/settings.md', () => {
  test('lists the current settings (bun run generate writes them)', async () => {
    expect(await Bun.file(settingsPage).text()).toBe(await pageWithSettings());
  });

  interface Row {
    flag: string;
    variable: string;
    fallback: string;
    commands: string[];
  }
  const wordsOf = (cell: string): string[] => [...cell.matchAll(/`([^` ]+)[^`]*`/g)].map(([, word = '']) => word);
  const rows = readFileSync(settingsPage, 'utf8')
    .split('\n')
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .filter(([, , variables = '']) => variables.startsWith('`STACKSIDE_'))
    .map(([, flag = '', variables = '', fallback = '', , commands = '']): Row => {
      const [[ownFlag = ''], [variable = '']] = [wordsOf(flag), wordsOf(variables)];
      return {
        flag: ownFlag,
        variable,
        fallback,
        commands: [...commands.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
      };
    });

  test('lists only flags that the commands accept', () => {
    expect(rows.length).toBe(allSettings.length);
    const refused = rows.flatMap(({ flag, commands }) =>
      commands
        .flatMap(takingSettingsOf)
        .filter((command) => flag !== '' && !takes(command, flag))
        .map((command) => `${command.name()} ${flag}`),
    );
    expect(refused).toEqual([]);
  });

  test('names each command with settings, except doctor, which takes those of serve', () => {
    const own = program.commands.flatMap((item) => {
      const { settingsOf } = item as OwnCommand;
      return settingsOf === null || settingsOf === item.name() ? [] : [[item.name(), settingsOf]];
    });
    expect(own).toEqual([['doctor', 'serve']]);
  });

  test('lists the defaults', () => {
    for (const { variable, fallback, commands } of rows) {
      if (!commands.includes('serve')) continue;
      const [, documented] = /^`([^`]*)`/.exec(fallback.split(/; | for /)[0] ?? '') ?? [];
      const variables =
        documented === undefined || fallback.includes(`${documented}\` for`) ? {} : { [variable]: documented };
      expect([variable, readSettings({}, variables)]).toEqual([variable, readSettings({}, {})]);
    }
  });
});

describe('the pages', () => {
  for (const { name, text } of pages) {
    const scripts = [...text.matchAll(/^```sh.*\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) => code.split('\n'));
    const inText = [...text.matchAll(/`([^`\n]+)`|^ {4}(.+)$/gm)].map(([, inline, block]) => inline ?? block ?? '');
    const spans = [...scripts, ...inText];

    test(`${name} uses commands only with flags that they accept`, () => {
      const lines = spans.flatMap((span) => [...span.matchAll(/\bstackside ([a-z-]+)((?: .*)?)$/g)]);
      const commandLines = lines.filter(([, command]) => program.commands.some((item) => item.name() === command));
      const refused = commandLines.flatMap(([line, command = '', rest = '']) =>
        [...(rest.split('#')[0] ?? '').matchAll(/ (--[a-z0-9-]+)/g)]
          .filter(([, flag = '']) => !commandsNamed(command).some((item) => takes(item, flag)))
          .map(([, flag]) => `${flag}: ${line}`),
      );
      expect(refused).toEqual([]);
    });

    test(`${name} mentions only existing flags`, () => {
      const everywhere = [program, ...program.commands.flatMap((item) => [item, ...item.commands])];
      const flags = spans.flatMap((span) => /^--[a-z0-9-]+/.exec(span) ?? []);
      expect(flags.filter((flag) => !everywhere.some((command) => takes(command, flag)))).toEqual([]);
    });

    test(`${name} mentions only existing variables`, () => {
      const read = new Set([
        ...allSettings.flatMap(({ variables }) => [...variables]),
        ...testVariables,
        ...testSupportVariables,
      ]);
      const named = [...text.matchAll(/\bSTACKSIDE_[A-Z_]*[A-Z]\b/g)].map(([variable]) => variable);
      expect(named.filter((variable) => !read.has(variable))).toEqual([]);
    });
  }
});

test('console takes the settings that sign a browser in, and no others', () => {
  const names = settingsOfCommand('console').map(([name]) => name);
  expect(names.sort()).toEqual(['adminKey', 'data', 'hookKey', 'url']);
});

describe('every command', () => {
  for (const name of commandNames) {
    test(`${name} shows each of its settings in its help, including settings without a flag`, () => {
      for (const command of takingSettingsOf(name)) {
        (command as OwnCommand).onlyInFullHelp = null;
        const help = command.helpInformation();
        for (const [, { flag, variables }] of settingsOfCommand(name)) expect(help).toContain(flag ?? variables[0]);
        const hasHidden = settingsOfCommand(name).some(([, { flag }]) => flag === null);
        expect(help.includes('Set by variables only:')).toBe(hasHidden);
      }
    });

    test(`${name} has the defaults in its help, and variables and flags override them`, () => {
      const defaults = readSettingsOf(name, {}, {}).settings as Record<string, unknown>;
      const byName = settings as Record<string, Grouped>;
      for (const [setting, value] of Object.entries(defaults)) {
        const printed = printedValue(byName[setting]!, value);
        const absent = byName[setting]?.except?.[name]?.absent;
        if (printed !== null && absent === undefined) expect(defaultText(byName[setting]!, name)).toBe(printed);
      }
      const dataOf = (flags: object) =>
        (readSettingsOf(name, { ...flags }, { STACKSIDE_DATA: '/of-variable' }).settings as { data?: string }).data;
      if ('data' in defaults) expect([dataOf({}), dataOf({ data: '/of-flag' })]).toEqual(['/of-variable', '/of-flag']);
      if (!('logLevel' in defaults)) return;
      const level = (flags: object, environment: Record<string, string>) =>
        (readSettingsOf(name, { ...flags }, environment).settings as { logLevel: string }).logLevel;
      expect(level({}, { STACKSIDE_LOG_LEVEL: 'debug' })).toBe('debug');
      expect(level({ logLevel: 'info' }, { STACKSIDE_LOG_LEVEL: 'debug' })).toBe('info');
    });
  }

  test('with a log accepts --log-level and describes it the same way', () => {
    const lines = (['serve', 'demo', 'devnet', 'import', 'rebuild'] as const).map((name) => {
      const [, text = ''] =
        /(--log-level <level>.*?)\(default/s.exec(takingSettingsOf(name)[0]?.helpInformation() ?? '') ?? [];
      return text.replace(/\s+/g, ' ');
    });
    expect(new Set(lines)).toEqual(
      new Set(['--log-level <level> Minimum log level: debug, info, warn, error, silent ']),
    );
  });
});

describe('printed settings', () => {
  const secret = '11'.repeat(32);
  const used = readSettings(
    { apiPort: '0', deprecated: 'off' },
    {
      STACKSIDE_FAUCET_KEYS: secret,
      STACKSIDE_HOOK_ALERT: `https://example.org/${secret}`,
      STACKSIDE_NODE_RPC: `https://user:${secret}@example.org`,
      STACKSIDE_BTC_RPC: `https://${secret}@example.org`,
      STACKSIDE_NETWORK: 'testnet',
    },
  );

  test('include only values other than the default in the log, without secrets', () => {
    expect(changedSettings(used)).toEqual({
      network: '0x80000000',
      api_port: 0,
      deprecated: 'off',
      node_rpc: 'https://user:***@example.org',
      hook_alert: '<set>',
      faucet_keys: '<set>',
      btc_rpc: 'https://***@example.org',
    });
    expect(changedSettings(readSettings({}, {}))).toEqual({});
  });

  test('never contain a secret', () => {
    for (const [name, declared] of settingsOfCommand('serve')) {
      const value = used[name as keyof typeof used];
      expect(`${printedValue(declared, value)} ${JSON.stringify(jsonValue(declared, value))}`).not.toContain(secret);
    }
  });
});

describe('variables without an effect', () => {
  test('a misspelled variable is reported with the most similar setting, if there is one', () => {
    const environment = {
      STACKSIDE_API_PROT: '1',
      STACKSIDE_HOOK_TARGET: '1',
      STACKSIDE_UNHEARD_OF: '1',
      STACKSIDE_API_PORT: '1',
      STACKS_API_PROT: '1',
    };
    expect(ignoredVariables(environment)).toEqual([
      { variable: 'STACKSIDE_API_PROT', reason: 'It is not a setting. Did you mean STACKSIDE_API_PORT?' },
      { variable: 'STACKSIDE_HOOK_TARGET', reason: 'It is not a setting. Did you mean STACKSIDE_HOOK_TARGETS?' },
      { variable: 'STACKSIDE_UNHEARD_OF', reason: 'It is not a setting.' },
    ]);
  });

  test('a variable that only the reference API supports is reported with its replacement', () => {
    expect(ignoredVariables({ STACKS_CORE_PROXY_BODY_LIMIT: '5000000', CUSTOM_CHAIN_IDS: '' })).toEqual([
      { variable: 'STACKS_CORE_PROXY_BODY_LIMIT', reason: "Stackside doesn't support it. The limit is 10 MB." },
    ]);
  });

  test('variables of the tests are not reported, and CONTRIBUTING.md describes each', () => {
    const read = [...new Bun.Glob('{test,bench}/**/*.ts').scanSync(root)].flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/process\.env\.(STACKSIDE_\w+)/g)].map(
        ([, name = '']) => name,
      ),
    );
    expect([...new Set(read)].toSorted()).toEqual(testVariables.toSorted());
    const others = [...read, ...testSupportVariables];
    expect(ignoredVariables(Object.fromEntries(others.map((name) => [name, '1'])))).toEqual([]);
    const contributors = pages.find(({ name }) => name === 'CONTRIBUTING.md')?.text ?? '';
    expect(testVariables.filter((name) => !contributors.includes(name))).toEqual([]);
  });
});

test('each setting has a unique name, flag and variables, and a description without a final full stop', () => {
  const flags = allSettings.flatMap(({ flag }) => (flag === null ? [] : [flag.split(' ')[0]]));
  expect(new Set(flags).size).toBe(flags.length);
  for (const { help, accepts } of allSettings)
    expect([help, accepts].filter((text) => /^[\s]|[.\s]$/.test(text))).toEqual([]);
});
