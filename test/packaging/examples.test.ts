/**
 * The examples work if you copy them: installed as npm installs them, type-checked, and run in Bun and in Node. A Node
 * that can't read TypeScript gets a compiled example.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { startDevnet } from '../../src/testing/index.ts';
import { hasClarity, linkClarity } from '../support/clarity.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { installPackage } from './installed-package.ts';

const ROOT = join(import.meta.dir, '../..');

/** An example in its own directory, with the packages that it names. */
interface Example extends Disposable {
  path: string;
  executable: string;
  /** Runs a program in the example. Its PATH contains a shell and nothing else. @returns the output */
  run(program: string, args: string[], more?: Record<string, string>): Promise<string>;
  /** Returns the messages of the compiler. */
  typeErrors(): unknown[];
}

/** Copies an example, and installs its packages. */
async function installed(name: string): Promise<Example> {
  const directory: DataDirectory = dataDirectory();
  const { path } = directory;
  const isOwn = (from: string) => !from.includes('node_modules');
  cpSync(join(ROOT, 'examples', name), path, { recursive: true, filter: isOwn });
  const executable = await installPackage(path);
  linkClarity(path);
  const packages = [['@stacks/transactions'], ['@types/node'], ['@types/bun', 'bun-types']] as const;
  for (const [as, from = as] of packages) {
    mkdirSync(dirname(join(path, 'node_modules', as)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', from), join(path, 'node_modules', as));
  }
  return {
    path,
    executable,
    async run(program, args, more = {}) {
      const child = Bun.spawn([program, ...args], {
        cwd: path,
        env: { PATH: '/usr/bin:/bin', TMPDIR: process.env.TMPDIR ?? '/tmp', ...more },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const [printed, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      expect([code, code === 0 ? '' : `${printed}${errors}`]).toEqual([0, '']);
      return printed + errors;
    },
    typeErrors() {
      const file = join(path, 'tsconfig.json');
      const { config } = ts.readConfigFile(file, ts.sys.readFile);
      const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, path, {}, file);
      expect(fileNames.length).toBeGreaterThan(1);
      return ts
        .getPreEmitDiagnostics(ts.createProgram(fileNames, options))
        .map((found) => [found.file?.fileName, found.messageText]);
    },
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

/** The command line of a test run that no busy machine is too slow for. */
const TESTS = ['test', '--timeout', '3600000'];

describeWith('Clarity', hasClarity, () => {
  describe('tickets', () => {
    let example: Example;
    beforeAll(async () => {
      example = await installed('tickets');
      compile(example.path);
    });
    afterAll(() => example?.[Symbol.dispose]());

    test('passes the type check', () => {
      expect(example.typeErrors()).toEqual([]);
    });

    test('passes its tests in Bun', async () => {
      expect(await example.run(process.execPath, [...TESTS, './test/tickets.test.ts'])).toContain('4 pass');
    });

    const node = Bun.which('node');
    test.skipIf(node === null)('passes its tests in Node', async () => {
      expect(await example.run(node!, ['--test', 'compiled/test/tickets.test.js'])).toContain('# pass 4');
    });

    test('buys a ticket and receives the webhook for the ticket', async () => {
      const { executable, path } = example;
      await using chain = await startDevnet({ executable, clarity: path, limitMs: 3_600_000 });
      const printed = await example.run(process.execPath, ['app/main.ts'], { STACKSIDE_URL: chain.url });
      expect(printed).toContain('Bought ticket 1; 2 are left.');
      expect(printed).toContain('Ticket 1 belongs to ST1SJ3DTE5DN7X54YDH5D64R3BCB6A2AG2ZQ8YPD5.');
    });
  });

  test.each([
    ['token', 4],
    ['vault', 3],
    ['game', 4],
  ])('%s passes the type check and its %d tests, and has the types of its contracts', async (name, count) => {
    using example = await installed(name);
    expect(example.typeErrors()).toEqual([]);
    expect(await example.run(process.execPath, TESTS)).toContain(`${count} pass`);
    const { executable, path } = example;
    await using chain = await startDevnet({ executable, clarity: path, limitMs: 3_600_000 });
    const types = await example.run(executable, ['devnet', 'types', '--url', chain.url]);
    expect(types).toBe(await Bun.file(join(path, 'test/contracts.ts')).text());
  });
});

/** Compiles the example's programs into `compiled/`. */
function compile(path: string): void {
  for (const folder of ['app', 'test']) {
    mkdirSync(join(path, 'compiled', folder), { recursive: true });
    for (const name of readdirSync(join(path, folder))) {
      const compilerOptions = {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        rewriteRelativeImportExtensions: true,
      };
      const { outputText } = ts.transpileModule(readFileSync(join(path, folder, name), 'utf8'), { compilerOptions });
      writeFileSync(join(path, 'compiled', folder, name.replace('.ts', '.js')), outputText);
    }
  }
}
