/** All commands: the option `--json`, an archive as the data directory, and the short help of those with many settings. */
import { expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { OperatorError } from '../../src/base/errors.ts';
import { parsedJson } from '../../src/base/json.ts';
import type { OwnCommand } from '../../src/commands/cli/command.ts';
import { createProgram } from '../../src/commands/program.ts';
import { stackside } from '../e2e/stackside.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { failureOf } from '../support/failure.ts';

/** All commands that run something, by their words. */
function commandsOf(command: Command, words: readonly string[] = []): [words: string, command: Command][] {
  const below = command.commands.flatMap((child) => commandsOf(child, [...words, child.name()]));
  return (command as OwnCommand).settingsOf === null ? below : [[words.join(' '), command], ...below];
}

const commands = commandsOf(createProgram());
const takes = (option: string, { options }: Command): boolean => options.some(({ long }) => long === option);

test('--json exists on every command that prints data, and on no other command', () => {
  const missing = commands.filter(([, command]) => !takes('--json', command)).map(([words]) => words);
  expect(missing).toEqual([
    ...['serve', 'console', 'import', 'restore', 'backup', 'export', 'rebuild', 'cluster init'],
    ...['hooks enable', 'hooks disable', 'hooks remove', 'hooks listen', 'devnet', 'devnet types', 'demo'],
    'simulate',
  ]);
});

test.each(['status', 'status --tables', 'check'])('stackside %s --json prints only JSON on stdout', async (words) => {
  using directory = dataDirectory();
  await stackside('import', '/dev/null', '--data', directory.path);
  const { stdout } = await stackside(...words.split(' '), '--json', '--data', directory.path);
  expect(stdout).not.toBe('');
  // One value, or a value on each line.
  const isJson = (text: string): boolean => parsedJson(text) !== undefined;
  expect(isJson(stdout) || stdout.trim().split('\n').every(isJson)).toBe(true);
});

test('a command without data rejects --json, and --json conflicts with another --format', async () => {
  const [rebuild, both] = await Promise.all([
    stackside('rebuild', '--json'),
    stackside('sql', 'SELECT 1', '--json', '--format', 'csv'),
  ]);
  expect(rebuild).toMatchObject({ code: 1, stdout: '' });
  expect(rebuild.stderr).toStartWith("Unknown option '--json'.");
  expect(both).toMatchObject({ code: 1, stdout: '' });
  expect(both.stderr).toStartWith("Option '--json' cannot be used with option '--format <format>'.");
});

/** The arguments and options that a command must have. */
const neededBy = ({ registeredArguments, options }: Command): string[] => [
  ...registeredArguments.filter(({ required }) => required).map(() => 'any'),
  ...options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, required }) => [long ?? '', ...(required ? ['1'] : [])]),
];

test('every command with a data directory rejects an archive in two lines and writes nothing into it', async () => {
  const named = commands.filter(([, command]) => takes('--data', command));
  const expected = ['serve', 'demo', 'import', 'rebuild', 'restore', 'archive key'];
  expect(named.map(([words]) => words)).toEqual(expect.arrayContaining(expected));
  using directory = dataDirectory();
  writeFileSync(join(directory.path, 'archive.json'), '{}');
  const refusal = {
    message: `${directory.path} is an archive, and not a data directory.`,
    remedy: expect.stringContaining(`stackside restore ${directory.path} --data DIR`),
  };
  for (const [words, command] of named) {
    const args = [...words.split(' '), ...neededBy(command), '--data', directory.path];
    const running = createProgram(args[0]).parseAsync(args, { from: 'user' });
    expect([words, await failureOf(OperatorError, running)]).toMatchObject([words, refusal]);
  }
  expect(readdirSync(directory.path)).toEqual(['archive.json']);
});

test.each(['backup', 'restore', 'archive status', 'archive list', 'archive verify', 'import', 'hooks add'])(
  '%s refuses an empty argument',
  async (words) => {
    const error = await failureOf(
      OperatorError,
      createProgram(words.split(' ')[0]).parseAsync([...words.split(' '), ''], { from: 'user' }),
    );
    expect(error.message).toMatch(/^<(archive|file|file\.\.\.)> is ""\.$/);
    expect(error.remedy).toMatch(/^It must be a (file|directory), .+\.$/);
  },
);

test('serve --help shows the most common settings, and --help-all shows all of them', async () => {
  const [short, whole] = await Promise.all([stackside('serve', '--help'), stackside('serve', '--help-all')]);
  const flagsIn = (text: string) => text.match(/^ {2}--[a-z-]+/gm)?.map((flag) => flag.trim()) ?? [];
  expect([short.code, whole.code]).toEqual([0, 0]);
  expect(flagsIn(short.stdout).length).toBeLessThanOrEqual(15);
  expect(flagsIn(short.stdout)).toContain('--node-config');
  expect(short.stdout).toMatch(/stackside serve --help-all shows \d+ more settings\.\n/);
  expect(short.stdout).not.toContain('Set by variables only:');
  const serve = commands.find(([words]) => words === 'serve')?.[1];
  const flags = serve?.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? '') ?? [];
  expect(flags.filter((flag) => !flagsIn(whole.stdout).includes(flag))).toEqual([]);
  expect(whole.stdout).toContain('Set by variables only:');
});
