/** The npm packages: their downloads, and how the launcher forwards signals and exit codes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { bytesOf, textFile } from '../../packaging/archive.ts';
import { archiveName, executablePackage, mainPackage, packed, platformPackage } from '../../packaging/npm-packages.ts';
import { tryPackages } from '../../packaging/smoke.ts';
import { targetHere, targetNames } from '../../packaging/targets.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';

const TIME = new Date('2026-11-22T10:20:30Z');
const licence = textFile('LICENSE', 'MIT\n');
const here = targetHere() ?? 'linux-x64';

/** Serves the state that a demo would serve, until a signal stops it. */
const standIn = `#!/usr/bin/env node
const state = JSON.stringify({ chain_tip: { block_height: 7 } });
const server = require('node:http').createServer((request, answer) => answer.end(state));
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ api: 'http://127.0.0.1:' + server.address().port })));
process.on('SIGTERM', () => process.exit(0));
`;

let directory: DataDirectory;
beforeAll(() => {
  directory = dataDirectory();
});
afterAll(() => directory[Symbol.dispose]());

const packagesWith = (executable: string) =>
  Promise.all(
    [
      mainPackage(targetNames, manifest.version, licence, []),
      ...targetNames.map((target) => executablePackage(target, manifest.version, bytesOf(executable), [licence])),
    ].map((item) => packed(item, TIME, 0)),
  );

test("npx downloads only the launcher and this platform's package, starts a demo and stops it", async () => {
  const packages = await packagesWith(standIn);
  expect(packages).toHaveLength(targetNames.length + 1);
  const { height, downloaded } = await tryPackages(packages, directory.path);
  expect({ height, downloaded }).toEqual({ height: 7, downloaded: [platformPackage(here), 'stackside'] });
});

test('package archives have the names that npm uses', () => {
  expect(archiveName({ name: '@stackside/linux-x64', version: '1.2.3' })).toBe('stackside-linux-x64-1.2.3.tgz');
});

describe('the launcher', () => {
  let launcher = '';
  const program = (): string => join(directory.path, 'node_modules', platformPackage(here), 'bin/stackside');

  /** Installs the launcher next to a program for this platform. */
  beforeAll(() => {
    const folder = join(directory.path, 'node_modules/stackside');
    launcher = join(folder, 'bin/stackside.cjs');
    mkdirSync(join(folder, 'bin'), { recursive: true });
    cpSync(join(import.meta.dir, '../../packaging/npm/stackside.cjs'), launcher);
    cpSync(join(import.meta.dir, '../../packaging/npm/executable.cjs'), join(folder, 'bin/executable.cjs'));
    const { files } = mainPackage(targetNames, manifest.version, licence, []);
    const platforms = files.find(({ path }) => path === 'platforms.json');
    writeFileSync(join(folder, 'platforms.json'), platforms!.bytes);
    mkdirSync(join(program(), '..'), { recursive: true });
    writeFileSync(join(program(), '../../package.json'), '{}');
  });

  const install = (script: string, interpreter = '/bin/sh'): void => {
    writeFileSync(program(), `#!${interpreter}\n${script}\n`);
    chmodSync(program(), 0o755);
  };
  const launch = (...args: string[]) =>
    Bun.spawn(['node', launcher, ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' });

  test('forwards arguments, input, output and the exit code', async () => {
    install('read line; echo "$line:$1:$2"; echo wrong >&2; exit 75');
    const child = launch('a b', '*');
    child.stdin.write('typed\n');
    expect([await child.stdout.text(), await child.stderr.text(), await child.exited]).toEqual([
      'typed:a b:*\n',
      'wrong\n',
      75,
    ]);
  });

  test("forwards signals, and exits with the program's exit code", async () => {
    install(
      `process.on('SIGHUP', () => console.log('SIGHUP'));
      process.on('SIGTERM', () => { console.log('SIGTERM'); process.exit(3); });
      process.stdin.resume();
      console.log('ready');`,
      '/usr/bin/env node',
    );
    const child = launch();
    const lines: string[] = [];
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const signal = (['SIGHUP', 'SIGTERM'] as const)[lines.length];
      lines.push(chunk.trim());
      // A signal after the last line would end the launcher itself.
      if (signal !== undefined) child.kill(signal);
    }
    expect([lines, await child.exited]).toEqual([['ready', 'SIGHUP', 'SIGTERM'], 3]);
  });

  test('ends with the signal that ended the program', async () => {
    install('kill -KILL $$');
    const child = launch();
    await child.exited;
    expect(child.signalCode).toBe('SIGKILL');
  });

  test("prints an error if the platform's package is not installed, or if there is none", async () => {
    rmSync(join(program(), '../../package.json'));
    const missing = launch();
    expect([await missing.stderr.text(), await missing.exited]).toEqual([
      expect.stringContaining(`The package ${platformPackage(here)}, which holds the executable`),
      1,
    ]);
    writeFileSync(join(directory.path, 'node_modules/stackside/platforms.json'), '[]');
    const none = launch();
    expect([await none.stderr.text(), await none.exited]).toEqual([
      expect.stringMatching(/^There is no executable of Stackside for .+\.\nPlatforms: \.\n$/),
      1,
    ]);
  });
});
