/**
 * package.json installs the packages that the code imports: users install nothing unused, and every import of the build
 * is declared.
 */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import manifest from '../package.json' with { type: 'json' };

/** Packages that are run or read by the compiler, so that no file imports them. */
const TOOLS: Readonly<Record<string, string>> = {
  bun: 'runs everything',
  'bun-types': 'the types of Bun, for the compiler',
  '@biomejs/biome': 'lints and formats',
};

const project = join(import.meta.dir, '..');

/** The modules that a file imports or exports from, with types and late imports. */
const IMPORT = /^(?:import|export)\b(?:[^;']*?\bfrom)? '([^']+)'|\bimport\('([^']+)'\)/gm;

/** The packages that the files of a folder import. */
async function importedPackages(pattern: string): Promise<Set<string>> {
  const packages = new Set<string>();
  for await (const file of new Glob(pattern).scan(project)) {
    const text = await Bun.file(join(project, file)).text();
    for (const [, fixed, late] of text.matchAll(IMPORT)) {
      const path = fixed ?? late!;
      // Tests of generated code contain imports of this package.
      if (/^(\.|#|bun$|bun:|node:|stackside\/)/.test(path)) continue;
      packages.add(
        path
          .split('/')
          .slice(0, path.startsWith('@') ? 2 : 1)
          .join('/'),
      );
    }
  }
  return packages;
}

const sources = await importedPackages('src/**/*.{ts,tsx}');

test('dependencies are the packages that the program imports', () => {
  expect([...sources].sort()).toEqual(Object.keys(manifest.dependencies).sort());
});

test('development dependencies are imported only by tests, benchmarks and builds, or are named tools', async () => {
  const used = new Set(Object.keys(TOOLS));
  for (const pattern of ['test/**/*.ts', 'bench/**/*.ts', 'packaging/**/*.ts', '*.ts']) {
    for (const name of await importedPackages(pattern)) if (!sources.has(name)) used.add(name);
  }
  expect([...used].sort()).toEqual(Object.keys(manifest.devDependencies).sort());
});

test('every version is one version', () => {
  const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});
