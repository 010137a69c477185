/** The notices of a release name whatever stands in the executable. */
import { expect, test } from 'bun:test';
import manifest from '../../package.json' with { type: 'json' };
import { bundledPackages, thirdPartyNotices } from '../../packaging/notices.ts';

const packages = await bundledPackages();
const notices = await thirdPartyNotices('1.2.3');

test('the packages that are bundled are dependencies, with those of the console and those they bring', () => {
  const names = packages.map(({ name }) => name);
  const tools = Object.keys(manifest.devDependencies);
  expect(names).toEqual(expect.arrayContaining(['elysia', 'commander', 'preact', 'uplot', 'engine.io']));
  expect(names.filter((name) => tools.includes(name))).toEqual([]);
});

test('each of them has a heading with its version and licence, and the whole text of its licence', () => {
  expect(packages.length).toBeGreaterThan(50);
  for (const { name, version, licence, texts } of packages) {
    expect(notices).toContain(`\n${name} ${version} (${licence})\n\n`);
    for (const text of texts) expect(notices).toContain(text);
    if (texts.length === 0) {
      expect(notices).toContain(`${name} ${version} (MIT)\n\nThe package has no file with its licence.`);
    }
  }
});

test('the runtime, its libraries and the script of the API reference are among them', () => {
  for (const text of [
    'Bun 1.2.3\n',
    '`boringssl`',
    'JavaScriptCore',
    '@scalar/api-reference ',
    'Version 2.1, February 1999',
  ]) {
    expect(notices).toContain(text);
  }
});
