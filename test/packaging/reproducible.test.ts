/** The same source gives the same executable, byte for byte, in any build folder. */
import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'bun';
import { executable } from '../e2e/stackside.ts';

const root = join(import.meta.dir, '../..');
/** Files that a build reads. */
const SOURCES = [
  'src',
  'packaging',
  'build.ts',
  'package.json',
  'tsconfig.json',
  'bunfig.toml',
  'schema.sql',
  'CHANGELOG.md',
];

const digestOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

test.skipIf(executable === null || process.platform === 'win32')(
  'a build in another folder has the same bytes',
  async () => {
    // The folder is inside the tree, so that the test can link packages and needn't copy them.
    const folder = join(root, 'dist', `again-${process.pid}`);
    try {
      mkdirSync(folder, { recursive: true });
      for (const name of SOURCES) cpSync(join(root, name), join(folder, name), { recursive: true });
      await $`cp -Rl ${join(root, 'node_modules')} ${folder}`;
      // The executable contains the commit, and a copy of the tree has none.
      const git = (await $`git -C ${root} rev-parse --absolute-git-dir`.quiet().nothrow().text()).trim();
      const environment = git === '' ? process.env : { ...process.env, GIT_DIR: git };
      const outfile = join(folder, 'dist', 'stackside');
      await $`${process.execPath} build.ts --outfile ${outfile}`.cwd(folder).env(environment).quiet();
      expect(digestOf(outfile)).toBe(digestOf(executable!));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
