/** Settings of the program as users run it: the values in use, and their sources. */
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { postEvents } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readSettings, settingsOfCommand } from '../../src/settings/config.ts';
import { printedName } from '../../src/settings/describe.ts';
import type { Grouped } from '../../src/settings/setting.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { type Environment, jsonLines, problemOf, stackside, stacksideIn, startServerIn } from './stackside.ts';

const directory = dataDirectory();
afterAll(() => directory[Symbol.dispose]());
const dir = (name: string): string => join(directory.path, name);

interface PrintedSetting {
  value: unknown;
  source: string;
  flag?: string;
  variable?: string;
}

async function settingsIn(environment: Environment, ...flags: string[]): Promise<Record<string, PrintedSetting>> {
  const { stdout, stderr, code } = await stacksideIn(environment, 'serve', '--print-settings', 'json', ...flags);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Record<string, PrintedSetting>;
}

const serving = settingsOfCommand('serve');

/** Texts to try as values. Each setting accepts one of them that isn't its default. */
const texts = [
  ...['1', '0', '2', '0.7', '70', '2000000', 'false', 'true', 'off', 'open', 'read', 'debug', 'json', 'mainnet'],
  ...['2027-06-30', 'http://127.0.0.1:2', '10.0.0.0/8', '11'.repeat(32), 'ST000000000000000000002AMW42H.token::token'],
  '/metadata=http://127.0.0.1:2',
  'redis://127.0.0.1:2',
  'postgres://127.0.0.1/log',
  ...['SP3FBR2AGK5H9QBDH3EEN6DF8EK8JY7RX8QJ5SVTE.many', 'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.many'],
  `ed25519:${Buffer.alloc(32, 1).toString('base64')}`,
  'ST000000000000000000002AMW42H.BNS-V2',
  'full',
  'text',
];

function textFor(name: string, { variables: [variable] }: Grouped): string {
  const defaultSettings = readSettings({}, {}) as Record<string, unknown>;
  const accepted = texts.find((text) => {
    try {
      return (readSettings({}, { [variable]: text }) as Record<string, unknown>)[name] !== defaultSettings[name];
    } catch {
      return false;
    }
  });
  if (accepted === undefined) throw new Error(`no text is accepted by ${name}: add one that is`);
  return accepted;
}

describe('stackside serve --print-settings', () => {
  const defaultSettings = settingsIn({});

  test('names the default of each without flags and variables', async () => {
    const printed = Object.values(await defaultSettings);
    expect(printed).toHaveLength(serving.length);
    expect(new Set(printed.map(({ source }) => source))).toEqual(new Set(['default']));
  });

  for (const position of [0, 1]) {
    test(`has each ${position === 0 ? 'STACKSIDE_ variable' : 'variable of the reference API'} in force`, async () => {
      const set = serving.flatMap(([name, declared]) => {
        const variable = declared.variables[position];
        return variable === undefined ? [] : [{ name, variable, text: textFor(name, declared) }];
      });
      // The publisher's URL counts only if streaming is on.
      const streaming = position === 0 ? {} : { SNP_EVENT_STREAMING: 'true' };
      const variables = Object.fromEntries(set.map(({ variable, text }) => [variable, text]));
      const printed = await settingsIn({ ...variables, ...streaming });
      const defaults = await defaultSettings;
      for (const { name, variable } of set) {
        const { value, ...source } = printed[printedName(name)]!;
        expect([name, source]).toEqual([name, { source: 'variable', variable }]);
        expect([name, value]).not.toEqual([name, defaults[printedName(name)]?.value]);
      }
    });
  }

  test('has each flag in force, before its variable', async () => {
    const set = serving.flatMap(([name, declared]) => {
      const [flag, value] = declared.flag?.split(' ') ?? [];
      if (flag === undefined) return [];
      return [{ name, flag, args: value === undefined ? [flag] : [flag, textFor(name, declared)] }];
    });
    const variables = { STACKSIDE_API_PORT: '5', STACKSIDE_LOG_LEVEL: 'warn' };
    const printed = await settingsIn(variables, ...set.flatMap(({ args }) => args));
    for (const { name, flag } of set) {
      expect([name, printed[printedName(name)]]).toMatchObject([name, { source: 'flag', flag }]);
    }
  });

  test('prints a table, with secrets as <set>', async () => {
    const { stdout, code } = await stacksideIn(
      { STACKSIDE_HOOK_ALERT: 'https://hunter2@example.org/' },
      ...['serve', '--print-settings', 'table', '--api-port', '1'],
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^API:$/m);
    expect(stdout).toMatch(/^ {2}api_port +1 +--api-port$/m);
    expect(stdout).toMatch(/^ {2}hook_alert +<set> +STACKSIDE_HOOK_ALERT$/m);
    expect(stdout).toMatch(/^ {2}hook_targets +- +default$/m);
    expect(stdout).not.toContain('hunter2');
  });
});

test('rejects a wrong value of a variable with an error that names the variable', async () => {
  const problem = async (variables: Environment, ...args: string[]) => {
    Object.assign(process.env, variables);
    try {
      return await problemOf(...args, '--data', dir('refused'));
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name];
    }
  };
  for (const args of [['demo'], ['devnet'], ['rebuild'], ['import', 'none.tsv']]) {
    expect([args, await problem({ STACKSIDE_LOG_LEVEL: 'loud' }, ...args)]).toEqual([
      args,
      'STACKSIDE_LOG_LEVEL is "loud".\nIt must be one of debug, info, warn, error, silent.\n',
    ]);
  }
  expect(await problem({ STACKSIDE_HOOK_TARGETS: 'here' }, 'serve')).toStartWith('STACKSIDE_HOOK_TARGETS is "here".\n');
});

test('STACKSIDE_DATA=DIR stackside demo writes its data there, and changes no existing data', async () => {
  const demo = await startServerIn({ STACKSIDE_DATA: dir('demo') }, 'demo', '--block-time', '60', '--past-blocks', '1');
  expect(await demo.stop()).toBe(0);
  expect(existsSync(join(dir('demo'), 'index.db'))).toBe(true);

  const second = await stacksideIn({ STACKSIDE_DATA: dir('demo') }, 'demo', '--api-port', '0', '--event-port', '0');
  expect([second.code, second.stderr.split('\n')[0]]).toEqual([
    1,
    `The directory ${dir('demo')} already has data, but a devnet starts another chain each time.`,
  ]);
});

test('stackside import --log-level info logs at info, and only errors without the flag', async () => {
  await stackside('simulate', '--blocks', '3', '--out', dir('again.tsv'));
  const spoken = await stackside('import', dir('again.tsv'), '--data', dir('spoken'), '--log-level', 'info');
  expect(spoken.stderr).toContain('"msg":"block_applied"');
  expect((await stackside('import', dir('again.tsv'), '--data', dir('quiet'))).stderr).not.toContain('"msg"');
});

test('an unknown STACKSIDE_ variable is warned of, with the setting that was meant', async () => {
  const variables = { STACKSIDE_API_PROT: '1', STACKSIDE_RUNS: '100' };
  const { stderr } = await stacksideIn(variables, 'serve', '--print-settings', 'table');
  expect(stderr).toBe('STACKSIDE_API_PROT has no effect. It is not a setting. Did you mean STACKSIDE_API_PORT?\n');
});

/** The log of a server that receives a chain, at a level. */
async function logOf(level: string): Promise<Record<string, unknown>[]> {
  const flags = ['--data', dir(`level-${level}`), '--log-level', level, '--hook-budget', '3'];
  const server = await startServerIn({ STACKSIDE_API_PROT: '1' }, 'serve', ...flags);
  await postEvents(devnetEvents({ seed: 1, blocks: 3 }), server.events);
  expect(await server.stop()).toBe(0);
  return jsonLines(await server.log());
}

test('stackside serve --log-level debug logs more than info, and starts with the changed settings', async () => {
  const [debug, info] = await Promise.all([logOf('debug'), logOf('info')]);
  // A slow machine logs other lines of level info, such as a changed state: only lines of level debug are compared.
  const numbers = { debug: 20, info: 30 };
  const eventsAt = (lines: Record<string, unknown>[], level: keyof typeof numbers) =>
    new Set(lines.filter(({ level: number }) => number === numbers[level]).map(({ msg }) => msg));
  expect(eventsAt(debug, 'debug')).toEqual(new Set(['event_accepted']));
  expect(eventsAt(debug, 'info')).toContain('block_applied');
  expect(eventsAt(info, 'debug')).toEqual(new Set());
  expect(info.find(({ msg }) => msg === 'setup_warning')).toMatchObject({
    problem: 'The variable STACKSIDE_API_PROT has no effect. It is not a setting. Did you mean STACKSIDE_API_PORT?',
  });
  expect(info.find(({ msg }) => msg === 'started')).toMatchObject({
    settings: { data: dir('level-info'), api_port: 0, event_port: 0, hook_budget: 3 },
  });
});
