/**
 * The examples work if you copy them: installed as npm installs them, type-checked, and run in Bun and in Node. A Node
 * that can't read TypeScript gets a compiled example. The
 * examples share a chain with the contracts of all of them, because each chain starts an engine.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { projectInterfaces, typesFile } from '../../src/commands/serve/contract-types.ts';
import { type ClarinetProject, clarinetProject, type ProjectContract } from '../../src/devnet/clarity/project.ts';
import { type Devnet, startDevnet } from '../../src/testing/index.ts';
import { hasClarity, linkClarity } from '../support/clarity.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { installPackage, script } from './installed-package.ts';

const EXAMPLES = join(import.meta.dir, '../../examples');
const MODULES = join(import.meta.dir, '../../node_modules');

/** Each example in its own directory, and next to them the packages that they name. */
let folder: DataDirectory;
let executable: string;
/** A chain with the contracts of all examples. */
let chain: Devnet;
/** Variables of an example that uses this chain: its executable starts nothing and prints the address of the chain. */
let sharesChain: { STACKSIDE_EXECUTABLE: string };
const dirOf = (name: string): string => join(folder.path, name);

/** Copies an example into a directory. It replaces files with the same names. */
function copy(name: string, directory: string): void {
  const isOwn = (from: string) => !from.includes('node_modules');
  cpSync(join(EXAMPLES, name), directory, { recursive: true, filter: isOwn });
}

/** Runs a program in an example. Its PATH contains a shell and nothing else. @returns the output */
async function run(name: string, program: string, args: string[], more: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn([program, ...args], {
    cwd: dirOf(name),
    env: { PATH: '/usr/bin:/bin', TMPDIR: process.env.TMPDIR ?? '/tmp', ...more },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [printed, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect([code, code === 0 ? '' : `${printed}${errors}`]).toEqual([0, '']);
  return printed + errors;
}

/** The project of an example, or of all of them. */
const projectOf = (name: string): ClarinetProject => clarinetProject(dirOf(name), 1);

/** Files of packages, parsed once for all examples. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** Returns the messages of the compiler for examples with the same options. */
function typeErrors(...names: string[]): unknown[] {
  const projects = names.map((name) => {
    const file = join(dirOf(name), 'tsconfig.json');
    const { config } = ts.readConfigFile(file, ts.sys.readFile);
    const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, dirOf(name), {}, file);
    expect(fileNames.length).toBeGreaterThan(1);
    return { options: { ...options, configFilePath: dirOf('tsconfig.json') }, fileNames };
  });
  const options = projects[0]!.options;
  for (const project of projects) expect(project.options).toEqual(options);
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (path, ...rest) => {
    if (!path.includes('/node_modules/')) return getSourceFile.call(host, path, ...rest);
    if (!parsed.has(path)) parsed.set(path, getSourceFile.call(host, path, ...rest));
    return parsed.get(path);
  };
  const program = ts.createProgram(
    projects.flatMap(({ fileNames }) => fileNames),
    options,
    host,
  );
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => [diagnostic.file?.fileName, diagnostic.messageText]);
}

/** The command line of a test run that no busy machine is too slow for. */
const TESTS = ['test', '--timeout', '300000'];

/** The parts of a contract that don't depend on the place of the project. */
const withoutPath = ({ path: _, ...contract }: ProjectContract) => contract;
const nameAndAddress = ({ name, address }: ClarinetProject['accounts'][number]) => ({ name, address });

/** The examples. The first manifest requires a contract, and the last settings have one more account. */
const NAMES = ['token', 'tickets', 'vault', 'game'];

describeWith('Clarity', hasClarity, () => {
  beforeAll(async () => {
    folder = dataDirectory();
    executable = await installPackage(folder.path);
    linkClarity(folder.path);
    for (const [as, from = as] of [['@stacks/transactions'], ['@types/node'], ['@types/bun', 'bun-types']] as const) {
      mkdirSync(dirname(dirOf(`node_modules/${as}`)), { recursive: true });
      symlinkSync(join(MODULES, from), dirOf(`node_modules/${as}`));
    }
    for (const name of NAMES) for (const directory of [name, 'all']) copy(name, dirOf(directory));
    const [first, ...others] = NAMES.map((name) => readFileSync(join(dirOf(name), 'Clarinet.toml'), 'utf8'));
    const contracts = others.map((manifest) => manifest.slice(manifest.indexOf('[contracts.')));
    writeFileSync(join(dirOf('all'), 'Clarinet.toml'), [first, ...contracts].join('\n'));
    chain = await startDevnet({ executable, clarity: dirOf('all'), limitMs: 300_000 });
    const ready = JSON.stringify({ api: chain.url, accounts: projectOf('all').accounts.map(nameAndAddress) });
    sharesChain = { STACKSIDE_EXECUTABLE: script(dirOf('shared'), `echo '${ready}'; read line`) };
  });
  afterAll(async () => {
    await chain?.stop();
    folder?.[Symbol.dispose]();
  });

  test.each(NAMES)('%s has the same contracts and accounts in its own project as in the project of all', (name) => {
    const combined = projectOf('all');
    const { accounts, contracts } = projectOf(name);
    expect(contracts.map(withoutPath)).not.toEqual([]);
    expect(combined.contracts.map(withoutPath)).toEqual(expect.arrayContaining(contracts.map(withoutPath)));
    expect(combined.accounts).toEqual(expect.arrayContaining(accounts));
  });

  describe('tickets', () => {
    test('passes the type check', () => {
      expect(typeErrors('tickets')).toEqual([]);
    });

    test('passes its tests in Bun', async () => {
      expect(await run('tickets', process.execPath, [...TESTS, './test/tickets.test.ts'], sharesChain)).toContain(
        '5 pass',
      );
    });

    const node = Bun.which('node');
    test.skipIf(node === null)('passes its tests in Node', async () => {
      compile(dirOf('tickets'));
      const printed = await run('tickets', node!, ['--test', 'compiled/test/tickets.test.js'], sharesChain);
      expect(printed).toContain('# pass 5');
    });

    test('buys a ticket and receives the webhook for the ticket', async () => {
      const printed = await run('tickets', process.execPath, ['app/main.ts'], { STACKSIDE_URL: chain.url });
      expect(printed).toContain('Bought ticket 1; 2 are left.');
      expect(printed).toContain('Ticket 1 belongs to ST1SJ3DTE5DN7X54YDH5D64R3BCB6A2AG2ZQ8YPD5.');
    });

    test('prints the guests of earlier blocks, and leaves no chainhook behind', async () => {
      const hooks = async () => {
        const { results } = (await (await fetch(`${chain.url}/chainhooks/me`)).json()) as {
          results: { uuid: string }[];
        };
        return results.map(({ uuid }) => uuid);
      };
      // The example's tests registered some.
      const before = await hooks();
      const printed = await run('tickets', process.execPath, ['app/main.ts'], { STACKSIDE_URL: chain.url });
      expect(printed.match(/Ticket \d/g)).toEqual(['Ticket 1', 'Ticket 2']);
      expect(await hooks()).toEqual(before);
    });
  });

  test('token, vault and game pass the type check', () => {
    expect(typeErrors('token', 'vault', 'game')).toEqual([]);
  });

  test.each([
    ['token', 4],
    ['vault', 3],
    ['game', 4],
  ])('%s passes its %d tests, and has the types of its contracts', async (name, count) => {
    expect(await run(name, process.execPath, TESTS, sharesChain)).toContain(`${count} pass`);
    const functions = (await projectInterfaces(chain.url)).get(name)!;
    expect(await Bun.file(join(dirOf(name), 'test/contracts.ts')).text()).toBe(typesFile(new Map([[name, functions]])));
  });

  test('the installed executable prints the types of the contracts', async () => {
    const printed = await run('all', executable, ['devnet', 'types', '--url', chain.url]);
    expect(printed).toBe(typesFile(await projectInterfaces(chain.url)));
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
