import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { EXIT } from '../../src/base/errors.ts';
import { createProgram } from '../../src/commands/program.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { tableSizes } from '../../src/store/check/tables.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { s3Server } from '../support/servers/s3-server.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { failureOf, jsonLines, problemOf, stackside, stacksideIn } from './stackside.ts';

const directory = dataDirectory();
const pathOf = (name: string): string => join(directory.path, name);
const recording = pathOf('devnet.tsv');

const tipOf = (data: string) => directoryStatus(data).tip;

beforeAll(async () => {
  const result = await stackside('simulate', '--seed', '3', '--blocks', '12', '--fork-every', '5', '--out', recording);
  expect(result.code).toBe(0);
  const imported = await stackside('import', recording, '--data', pathOf('data'));
  expect(failureOf(imported)).toBeNull();
});
afterAll(() => directory[Symbol.dispose]());

test('stackside import FILE brings the chain to its tip, and check finds nothing', async () => {
  const status = JSON.parse((await stackside('status', '--json', '--data', pathOf('data'), '--url', NO_NODE)).stdout);
  expect(status).toEqual({ server: null, cluster: null, ...directoryStatus(pathOf('data')) });
  expect(status.tip.height).toBe(12);
  const check = await stackside('check', '--data', pathOf('data'));
  expect(check.stdout).not.toContain('DIFFERS');
  expect(check.code).toBe(0);
  const { stdout } = await stackside('check', '--json', '--data', pathOf('data'));
  const lines = jsonLines(stdout);
  const names = (member: 'at' | 'found') => new Set(lines.flatMap((line) => line[member]?.name ?? []));
  // Each step is logged when it starts, and its result when it ends.
  expect(names('at').size).toBe(7);
  expect(names('found')).toEqual(names('at'));
});

test.each(['--all', '--sample=3', '--rate=5'])('stackside check %s compares with the node', async (option) => {
  const { code, stderr } = await stackside('check', option, '--data', pathOf('data'), '--node-rpc', NO_NODE);
  expect([code, stderr]).toEqual([EXIT.temporary, expect.stringContaining("can't be compared with the node")]);
});

test('stackside status --tables prints every table and index, the largest first; as JSON each as it is measured', async () => {
  const sizes = [...tableSizes(pathOf('data'), () => {})];
  const text = await stackside('status', '--tables', '--data', pathOf('data'));
  const largest = sizes.toSorted((a, b) => b.bytes - a.bytes);
  expect([
    text.code,
    text.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/)),
  ]).toEqual([
    0,
    largest.map(({ name, kind, table, bytes }) => [
      name,
      `${(bytes / 1e6).toFixed(1)} MB`,
      ...(kind === 'index' ? [`index of ${table}`] : []),
    ]),
  ]);
  const json = await stackside('status', '--tables', '--json', '--data', pathOf('data'));
  expect([json.code, jsonLines(json.stdout)]).toEqual([
    0,
    sizes.flatMap((found, index) => [
      { at: { number: index + 1, of: sizes.length, name: found.name, detail: '' } },
      { found },
    ]),
  ]);
});

test('stackside import --skip-bad counts a bad row', async () => {
  const lines = readFileSync(recording, 'utf8').trimEnd().split('\n');
  lines.splice(30, 0, 'not a row');
  writeFileSync(pathOf('bad.tsv'), lines.join('\n'));
  const skipped = await stackside('import', pathOf('bad.tsv'), '--data', pathOf('bad'), '--skip-bad');
  expect(skipped.code).toBe(0);
  expect(skipped.stdout).toContain(' 1 bad;');
  expect(tipOf(pathOf('bad'))).toEqual(tipOf(pathOf('data')));
});

test('an import of an export makes the same chain', async () => {
  const file = pathOf('exported.tsv.zst');
  expect((await stackside('export', '--data', pathOf('data'), '--output', file)).code).toBe(0);
  const repeated = await stackside('export', '--data', pathOf('data'), '--output', file);
  expect(repeated.code).toBe(1);
  expect(repeated.stderr).toContain('already exists');
  await stackside('import', file, '--data', pathOf('exported'));
  expect(tipOf(pathOf('exported'))).toEqual(tipOf(pathOf('data')));
});

test("an ambiguous recording is rejected without --format, and its export isn't ambiguous", async () => {
  const row = '1\t2024-01-01 00:00:01+00\t/stackerdb_chunks\t{"a":"C:\\\\new"}\n';
  writeFileSync(pathOf('either.tsv'), row);
  const refused = await stackside('import', pathOf('either.tsv'), '--data', pathOf('either'));
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/^Row 1 of .* can be read in two ways, .*\n.*--format copy.*--format raw.*\n$/);
  expect(directoryStatus(pathOf('either')).journal?.events).toBe(0);
  for (const format of ['raw', 'copy']) {
    const imported = await stackside('import', pathOf('either.tsv'), '--data', pathOf(format), '--format', format);
    expect(failureOf(imported)).toBeNull();
    const { stdout } = await stackside('export', '--data', pathOf(format));
    writeFileSync(pathOf('again.tsv'), stdout);
    const repeated = await stackside('import', pathOf('again.tsv'), '--data', pathOf(`${format}-again`));
    expect(failureOf(repeated)).toBeNull();
    expect((await stackside('export', '--data', pathOf(`${format}-again`))).stdout).toBe(stdout);
    expect(stdout === row).toBe(false);
  }
});

test('stackside rebuild makes the same index from the journal', async () => {
  const before = directoryStatus(pathOf('data'));
  const rebuilt = await stackside('rebuild', '--data', pathOf('data'));
  expect(rebuilt.stdout).toContain('height 12');
  expect({ ...directoryStatus(pathOf('data')), index_bytes: 0 }).toEqual({ ...before, index_bytes: 0 });
  expect((await stackside('check', '--data', pathOf('data'))).code).toBe(0);
});

test('stackside restore makes a data directory from a backup', async () => {
  const result = await stackside('backup', pathOf('backup'), '--data', pathOf('data'));
  expect([result.code, result.stdout]).toEqual([0, expect.stringContaining('base of height 12, entry ')]);
  const keys = ['admin.key', 'secrets.key'];
  expect(result.stdout).toContain(
    `Archives contain no keys: keep copies of ${keys.join(' and ')} of ${pathOf('data')} elsewhere.`,
  );
  const brought = await stackside('restore', pathOf('backup'), '--data', pathOf('restored'));
  expect([brought.code, brought.stdout]).toEqual([0, expect.stringContaining('height 12')]);
  expect(brought.stdout).toContain(`put ${keys.join(' and ')} of the old server into ${pathOf('restored')}`);
  expect(directoryStatus(pathOf('restored')).tip).toEqual(tipOf(pathOf('data')));
  expect(checkDirectory(pathOf('restored'), { deep: silentMachine }).flatMap(({ problems }) => problems)).toEqual([]);
});

test('stackside backup and restore take the variables of S3', async () => {
  using server = s3Server('bucket');
  const variables = { ...server.variables };
  const location = 's3://bucket/stacks';
  server.fail = ({ number }) => (number === 1 ? { status: 503, code: 'SlowDown' } : null);
  const result = await stacksideIn(variables, 'backup', location, '--public', '--data', pathOf('data'));
  expect([result.code, result.stdout]).toEqual([0, expect.stringContaining(`${location}: entry `)]);
  expect(result.stdout).not.toContain('secrets.key');
  server.fail = () => null;
  const [key = ''] = /ed25519:\S+(?=\.)/.exec(result.stdout) ?? [];
  const into = ['--data', pathOf('from-s3')];
  const brought = await stacksideIn(variables, 'restore', location, '--archive-public-key', key, ...into);
  expect(failureOf(brought)).toBeNull();
  expect(brought.stdout).toContain('If this archive is yours, put archive.key');
  expect(brought.stdout).not.toContain('secrets.key');
  expect(tipOf(pathOf('from-s3'))).toEqual(tipOf(pathOf('data')));
});

/** Runs a command that fails before it writes anything. @returns its error */
async function mistakeIn(args: readonly string[]): Promise<string> {
  const problem = await problemOf(...args, ...(args[0] === 'import' ? ['--data', pathOf('none')] : []));
  for (const path of [pathOf('none'), 'no-such-directory']) expect(existsSync(path)).toBe(false);
  return problem;
}

const mistakes: [args: string[], says: RegExp][] = [
  [['serve', '--event-port', 'x'], /--event-port is "x"\.\nIt must be a number from 0 to 65535\./],
  [['serve', '--mode', 'fast'], /--mode is "fast"\.\nIt must be full, read or write\./],
  [['serve', '--network', '0x123456789'], /--network is "0x123456789"/],
  [['serve', '--chain-id', '0x123456789'], /--network is "0x123456789"/],
  [['serve', '--network', 'mainnet', '--chain-id', '2'], /'--chain-id <id>' cannot be used with option '--network/],
  [
    ['--api-port', '0', 'status', '--event-port', '0'],
    /^status comes after an option, .*\nOptions come after the command: stackside status \[options\]\.\n$/,
  ],
  [
    ['--api-port', '0', 'nonsense'],
    /^nonsense comes after an option, .*\nRun stackside --help to see the commands\.\n$/,
  ],
  [['serve', 'status'], /^Too many arguments for 'serve'\./],
  [['--mode', 'fast'], /^--mode is "fast"\.\nIt must be full, read or write\.\n$/],
  [['import', 'no-such-file.tsv'], /^no-such-file\.tsv doesn't exist\.\nCheck the path\.\n$/],
  [['status', '--data', 'no-such-directory', '--url', NO_NODE], /No index found at no-such-directory/],
  [
    ['export', 'a'],
    /^Too many arguments for 'export'\. .*\.\nRun stackside export --help to see the arguments and options\.\n$/,
  ],
  [['export', '--format', 'x'], /^--format is "x"\.\nIt must be one of csv, ndjson, parquet\.\n$/],
  [['hooks', 'listen', '--url', 'http://127.0.0.1:3999'], /^Unknown option '--url'\.\n/],
  [['hooks', 'listen', '--fail', '700'], /^--fail is "700"\.\nIt must be an HTTP status from 200 to 599\.\n$/],
  [['restore', 'archive', '--until-time', 'noon'], /^--until-time is "noon"\./],
  [['simulate', '--blocks', 'many'], /^--blocks is "many"\.\nIt must be a whole number, 1 or greater\.\n$/],
];
for (const [args, message] of mistakes) {
  test(`stackside ${args.join(' ')} names the problem`, async () => {
    expect(await mistakeIn(args)).toMatch(message);
  });
}

const usageMistakes: [args: string[], problem: string, help: string][] = [
  [['serve', '--no-such-flag'], "Unknown option '--no-such-flag'.\n", 'serve --help'],
  [['--no-such-flag'], "Unknown option '--no-such-flag'.\n", 'serve --help'],
  [['frobnicate'], "Unknown command 'frobnicate'.\n", '--help'],
  [['sevre'], "Unknown command 'sevre'.\nDid you mean serve? ", '--help'],
  [['help', 'sevre'], "Unknown command 'sevre'.\nDid you mean serve? ", '--help'],
  [['devnet', 'snapshto'], "Unknown command 'snapshto'.\nDid you mean snapshot? ", 'devnet --help'],
  [['hooks', 'add'], "Missing required argument 'file'.\n", 'hooks add --help'],
  [['import'], "Missing required argument 'file'.\n", 'import --help'],
];
for (const [args, problem, help] of usageMistakes) {
  test(`stackside ${args.join(' ')} names the problem and the help`, async () => {
    expect(await mistakeIn(args)).toBe(`${problem}Run stackside ${help} to see the arguments and options.\n`);
  });
}

test('a mistake is two lines on stderr and exit code 1', async () => {
  for (const args of [['frobnicate'], ['serve', '--mode', 'fast']]) {
    expect(await stackside(...args)).toEqual({ code: EXIT.operator, stdout: '', stderr: await problemOf(...args) });
  }
});

test('the help of every command fits into 80 columns', () => {
  const helpsOf = (command: Command): string[] => {
    let written = '';
    command.configureOutput({ getOutHelpWidth: () => 80, writeOut: (text) => (written += text) }).outputHelp();
    return [written, ...command.commands.flatMap(helpsOf)];
  };
  const helps = helpsOf(createProgram());
  expect(helps.length).toBeGreaterThan(25);
  expect(helps.flatMap((help) => help.split('\n')).filter((line) => line.length > 80)).toEqual([]);
});

test('a command line without a command runs serve', async () => {
  const settings = { STACKSIDE_DATA: pathOf('none'), STACKSIDE_MODE: 'fast' };
  const [bare, named] = await Promise.all([stacksideIn(settings), stacksideIn(settings, 'serve')]);
  expect(bare).toEqual({
    code: EXIT.operator,
    stdout: '',
    stderr: expect.stringContaining('STACKSIDE_MODE is "fast"'),
  });
  expect(bare).toEqual(named);
  for (const option of ['--print-settings', '--help-all']) {
    expect(await stackside(option)).toEqual(await stackside('serve', option));
  }
  expect((await stackside('--help')).stdout).toContain('Without a command, stackside runs serve.');
  expect((await stackside('--version')).stdout).toStartWith('stackside v');
});

test('every command has help with an example', async () => {
  const help = (await stackside('--help')).stdout;
  const names = [...help.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map((match) => match[1] ?? '');
  expect(names).toEqual([
    ...['serve', 'console', 'status', 'doctor'],
    ...['import', 'restore', 'backup', 'export', 'rebuild'],
    ...['sql', 'check', 'compare', 'devnet', 'demo', 'simulate'],
  ]);
  for (const declared of createProgram().commands) {
    let written = '';
    declared.configureOutput({ writeOut: (text) => (written += text) }).outputHelp();
    expect(written).toContain(`Example:\n  stackside ${declared.name()}`);
  }
  // Only the command that runs is declared, and it has the same help.
  for (const declared of createProgram().commands) {
    const alone = createProgram(declared.name()).commands;
    expect(alone.map((program) => program.helpInformation())).toEqual([declared.helpInformation()]);
  }
  expect((await stackside('check', '--help')).stdout).toContain('Example:\n  stackside check');
});
