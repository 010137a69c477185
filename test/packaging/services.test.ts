/** The files that run Stackside as a service or in a container: valid for their tools, and with settings that exist. */
import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageTargets, targets } from '../../packaging/targets.ts';
import { createProgram } from '../../src/commands/program.ts';
import { ownVariables } from '../../src/settings/describe.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

const root = join(import.meta.dir, '../..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const unit = textOf('packaging/systemd/stackside.service');
const plist = textOf('packaging/launchd/stackside.plist');
const containerfile = textOf('Containerfile');
const initScript = textOf('packaging/openrc/stackside');
const windows = textOf('packaging/windows/README.md');

/** Checks a command line without the program's name. @returns the flags that its command doesn't accept */
function refusedOptions(line: string): string[] {
  const [name, ...rest] = line.trim().split(/\s+/);
  const command = createProgram().commands.find((item) => item.name() === name);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const accepted = command.options.map(({ long }) => long);
  return rest.filter((word) => word.startsWith('--') && !accepted.includes(word));
}

/** The values of an array of texts in the property list. */
const programArguments = (): string[] => {
  const [, array = ''] = /<key>ProgramArguments<\/key>\s*<array>([\s\S]*?)<\/array>/.exec(plist) ?? [];
  return [...array.matchAll(/<string>(.*?)<\/string>/g)].map(([, text = '']) => text);
};

const args = textOf('packaging/openrc/stackside.confd').match(/stackside_args="(.*)"/)?.[1] ?? '';

test.each([
  ['systemd', /^ExecStart=\S+ (.*)$/m.exec(unit)?.[1] ?? ''],
  ['OpenRC', `${/command_args="(serve --data) /.exec(initScript)?.[1] ?? ''} ${args}`],
  ['launchd', programArguments().slice(1).join(' ')],
  ['Windows', /-Argument "(.*?)"/.exec(windows)?.[1] ?? ''],
])('%s starts the server with flags that exist', (_name, line) => {
  expect(line).toStartWith('serve --');
  expect(refusedOptions(line)).toEqual([]);
});

test('variables that these files name are settings', () => {
  const variables = new Set(ownVariables());
  for (const text of [unit, plist, containerfile, windows, textOf('packaging/openrc/stackside.confd')]) {
    const named = [...text.matchAll(/\bSTACKSIDE_[A-Z_]*[A-Z]\b/g)].map(([name]) => name);
    expect(named.filter((name) => !variables.has(name))).toEqual([]);
  }
});

describe('the Containerfile', () => {
  const instruction = (name: string): string => new RegExp(`^${name} (.*)$`, 'm').exec(containerfile)?.[1] ?? '';

  test('has a user without rights, a volume with the data, and the signal that ends a server', () => {
    const [, user] = /^(\d+):\d+$/.exec(instruction('USER')) ?? [];
    expect(Number(user)).toBeGreaterThan(999);
    const [, data = ''] = /STACKSIDE_DATA=(\S+)/.exec(containerfile) ?? [];
    expect(data).toStartWith(`${instruction('VOLUME')}/`);
    expect(instruction('STOPSIGNAL')).toBe('SIGTERM');
  });

  test('checks its health with a command of the program', () => {
    const [, command = '[]'] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(containerfile) ?? [];
    const [program, ...words] = JSON.parse(command) as string[];
    expect([program]).toEqual(JSON.parse(instruction('ENTRYPOINT')) as string[]);
    expect(refusedOptions(words.join(' '))).toEqual([]);
  });

  test('copies the files of a release, for the processors of Linux', () => {
    expect(containerfile).toMatch(/^COPY dist\/image\/\$\{TARGETARCH\}\/stackside \/usr\/local\/bin\/stackside$/m);
    for (const name of Object.values(imageTargets)) expect(targets[name]).toMatchObject({ os: 'linux', libc: 'glibc' });
    expect(textOf('.dockerignore')).toBe('*\n!dist/image\n');
  });
});

test('the property list has matching tags', () => {
  const open: string[] = [];
  for (const [, end, name = '', alone] of plist.replace(/<[?!][\s\S]*?>/g, '').matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)) {
    if (alone === '/') continue;
    if (end === '') open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
  expect(plist).toStartWith('<?xml version="1.0" encoding="UTF-8"?>\n');
});

/** Runs a tool. @returns its exit code and its output */
function run(...command: string[]): [code: number, printed: string] {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: root });
  return [exitCode, stdout.toString() + stderr.toString()];
}

const script = ['packaging/openrc/stackside', 'packaging/openrc/stackside.confd'];
test('sh can parse the scripts of OpenRC', () => {
  for (const file of script) expect(run('sh', '-n', file)).toEqual([0, '']);
});

test.skipIf(Bun.which('shellcheck') === null)('shellcheck finds nothing in the scripts of OpenRC', () => {
  expect(run('shellcheck', ...script)).toEqual([0, '']);
});

test.skipIf(Bun.which('systemd-analyze') === null)('systemd accepts the unit', () => {
  using folder = dataDirectory();
  const file = join(folder.path, 'stackside.service');
  // The tool checks that the program exists.
  writeFileSync(file, unit.replace('/usr/local/bin/stackside', process.execPath));
  expect(run('systemd-analyze', 'verify', file)).toEqual([0, '']);
});
