/** A Clarinet project's files: Stackside reads nothing outside its directory. */
import { expect, test } from 'bun:test';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { clarinetProject } from '../../src/devnet/clarity/project.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

/**
 * Creates a project in a directory that also contains a file outside the project.
 * @param path path of the project's only contract
 * @param text more text of the contract's table in the manifest
 */
async function projectWith(path: string, text = '') {
  const directory = dataDirectory();
  const project = join(directory.path, 'project');
  mkdirSync(join(project, 'contracts'), { recursive: true });
  await Bun.write(join(directory.path, 'secret.clar'), '(print 1)');
  await Bun.write(join(project, 'contracts/shop.clar'), '(print 2)');
  symlinkSync(join(directory.path, 'secret.clar'), join(project, 'contracts/link.clar'));
  await Bun.write(
    join(project, 'Clarinet.toml'),
    `[project]\nname = "shop"\n\n[contracts.shop]\npath = ${JSON.stringify(path)}\n${text}`,
  );
  const read = (files?: string[]) => clarinetProject(project, 1, files);
  return { project, read, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

test.each(['contracts/shop.clar', './contracts/../contracts/shop.clar'])('reads the contract at %s', async (path) => {
  using shop = await projectWith(path);
  expect(shop.read().contracts.map(({ source }) => source)).toEqual(['(print 2)']);
});

test.each([0, 6, 9])('refuses the Clarity version %d', async (version) => {
  using shop = await projectWith('contracts/shop.clar', `clarity_version = ${version}\n`);
  expect(shop.read).toThrow(OperatorError);
  expect(shop.read).toThrow(`contracts.shop.clarity_version is ${version}, but the versions are 1 to 5.`);
});

test.each(['2.05', '"3.4"', '"latest"'])('ignores the epoch %s', async (epoch) => {
  using shop = await projectWith('contracts/shop.clar', `epoch = ${epoch}\n`);
  expect(shop.read().contracts).toHaveLength(1);
});

test.each([
  ['clarity_version = "3"\n', ': contracts.shop.clarity_version must be a whole number such as 3, or "latest".'],
  ['deployer = 5\n', ': contracts.shop.deployer must be a text in quotes.'],
  ['[contracts.art]\nepoch = 3.0\n', ': contracts.art.path is missing.'],
  ['\n# a comment\nepoch = [\n3.0\n', ":8 isn't valid TOML: "],
  ['epoch = 3.0\nepoch = 3.1\n', ":7 isn't valid TOML: "],
])('reports the manifest with %j in plain words', async (text, problem) => {
  using shop = await projectWith('contracts/shop.clar', text);
  expect(shop.read).toThrow(`${join(shop.project, 'Clarinet.toml')}${problem}`);
});

test.each(['../secret.clar', 'contracts/../../secret.clar', '/etc/hosts', 'contracts/link.clar'])(
  'refuses the contract at %s, outside the project',
  async (path) => {
    using shop = await projectWith(path);
    const files: string[] = [];
    const read = () => shop.read(files);
    expect(read).toThrow(OperatorError);
    expect(read).toThrow(`contracts.shop.path is outside the project: ${path}`);
    expect(files.filter((file) => !file.startsWith(shop.project))).toEqual([]);
  },
);
