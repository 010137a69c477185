/** A Clarinet project's files: Stackside reads nothing outside its directory. */
import { expect, test } from 'bun:test';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { clarinetProject } from '../../src/devnet/clarity/project.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';

/**
 * Creates a project in a directory that also contains a file outside the project.
 * @param path path of the project's only contract
 */
async function projectWith(path: string): Promise<DataDirectory> {
  const directory = dataDirectory();
  const project = join(directory.path, 'project');
  mkdirSync(join(project, 'contracts'), { recursive: true });
  await Bun.write(join(directory.path, 'secret.clar'), '(print 1)');
  await Bun.write(join(project, 'contracts/shop.clar'), '(print 2)');
  symlinkSync(join(directory.path, 'secret.clar'), join(project, 'contracts/link.clar'));
  await Bun.write(
    join(project, 'Clarinet.toml'),
    `[project]\nname = "shop"\n\n[contracts.shop]\npath = ${JSON.stringify(path)}\n`,
  );
  return directory;
}

test.each(['contracts/shop.clar', './contracts/../contracts/shop.clar'])('reads the contract at %s', async (path) => {
  using directory = await projectWith(path);
  const { contracts } = clarinetProject(join(directory.path, 'project'), 1);
  expect(contracts.map(({ source }) => source)).toEqual(['(print 2)']);
});

test.each([0, 7, 9])('refuses the Clarity version %d', async (version) => {
  using directory = await projectWith('contracts/shop.clar');
  const project = join(directory.path, 'project');
  const manifest = join(project, 'Clarinet.toml');
  await Bun.write(manifest, `${await Bun.file(manifest).text()}clarity_version = ${version}\n`);
  const read = () => clarinetProject(project, 1);
  expect(read).toThrow(OperatorError);
  expect(read).toThrow(`contracts.shop.clarity_version is ${version}, but the versions are 1 to 6.`);
});

test.each(['../secret.clar', 'contracts/../../secret.clar', '/etc/hosts', 'contracts/link.clar'])(
  'refuses the contract at %s, outside the project',
  async (path) => {
    using directory = await projectWith(path);
    const files: string[] = [];
    const read = () => clarinetProject(join(directory.path, 'project'), 1, files);
    expect(read).toThrow(OperatorError);
    expect(read).toThrow(`contracts.shop.path is outside the project: ${path}`);
    expect(files.filter((file) => !file.startsWith(join(directory.path, 'project')))).toEqual([]);
  },
);
