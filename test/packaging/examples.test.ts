/**
 * The examples work if you copy them: installed as npm installs them, type-checked, and run in Bun and in Node. A Node
 * that can't read TypeScript gets a compiled example.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { startDevnet } from '../../src/testing/index.ts';
import { hasClarity, linkClarity } from '../support/clarity.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { installPackage } from './installed-package.ts';

const ROOT = join(import.meta.dir, '../..');

describeWith('Clarity', hasClarity, () => {
  let directory: DataDirectory;
  let executable: string;

  beforeAll(async () => {
    directory = dataDirectory();
    const { path } = directory;
    const notInstalled = (from: string) => !from.includes('node_modules');
    cpSync(join(ROOT, 'examples/tickets'), path, { recursive: true, filter: notInstalled });
    executable = await installPackage(path);
    linkClarity(path);
    for (const name of ['@stacks/transactions', '@types/node']) {
      mkdirSync(dirname(join(path, 'node_modules', name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(path, 'node_modules', name));
    }
    compile(path);
  });
  afterAll(() => directory?.[Symbol.dispose]());

  /** Runs a program in the example. Its PATH contains a shell and nothing else. @returns the output */
  async function run(program: string, args: string[], more: Record<string, string> = {}): Promise<string> {
    const child = Bun.spawn([program, ...args], {
      cwd: directory.path,
      env: { PATH: '/usr/bin:/bin', TMPDIR: process.env.TMPDIR ?? '/tmp', ...more },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [printed, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect([code, code === 0 ? '' : `${printed}${errors}`]).toEqual([0, '']);
    return printed + errors;
  }

  test('passes the type check', () => {
    const { config } = ts.readConfigFile(join(directory.path, 'tsconfig.json'), ts.sys.readFile);
    const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, directory.path);
    const found = ts.getPreEmitDiagnostics(ts.createProgram(fileNames, options));
    expect(fileNames.length).toBeGreaterThan(3);
    expect(found.map(({ file, messageText }) => [file?.fileName, messageText])).toEqual([]);
  });

  test('passes its tests in Bun', async () => {
    expect(await run(process.execPath, ['test', '--timeout', '3600000', './test/tickets.test.ts'])).toContain('4 pass');
  });

  const node = Bun.which('node');
  test.skipIf(node === null)('passes its tests in Node', async () => {
    expect(await run(node!, ['--test', 'compiled/test/tickets.test.js'])).toContain('# pass 4');
  });

  test('buys a ticket and receives the webhook for the ticket', async () => {
    await using chain = await startDevnet({ executable, clarity: directory.path, limitMs: 3_600_000 });
    const printed = await run(process.execPath, ['app/main.ts'], { STACKSIDE_URL: chain.url });
    expect(printed).toContain('Bought ticket 1; 2 are left.');
    expect(printed).toContain('Ticket 1 belongs to ST1SJ3DTE5DN7X54YDH5D64R3BCB6A2AG2ZQ8YPD5.');
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
