/** Archives of a release: their files, and that they depend on nothing else. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { type ArchivedFile, tarGz, textFile, zip } from '../../packaging/archive.ts';
import { type BundledPackage, bundledPackages } from '../../packaging/notices.ts';
import { type Accompaniment, accompaniment, archiveOf, checksums, type ReleaseFile } from '../../packaging/release.ts';
import { unpacked } from '../../packaging/smoke.ts';
import { targetHere, targetNames } from '../../packaging/targets.ts';
import { executable } from '../e2e/stackside.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';

const TIME = new Date('2026-11-22T10:20:30Z');
const files: ArchivedFile[] = [
  { path: 'folder/program', bytes: new TextEncoder().encode('#!/bin/sh\nexit 3\n'), isExecutable: true },
  textFile('folder/LICENSE', 'MIT\n'),
  textFile('folder/man/page.1', '.TH\n'),
];
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let directory: DataDirectory;
beforeAll(() => {
  directory = dataDirectory();
});
afterAll(() => directory[Symbol.dispose]());

/** Runs work in another time zone. */
async function inZone<T>(zone: string, work: () => T): Promise<Awaited<T>> {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    return await work();
  } finally {
    process.env.TZ = before ?? 'UTC';
  }
}

describe.each([
  ['tar.gz', tarGz],
  ['zip', zip],
] as const)('%s', (_name, archive) => {
  test('has the same bytes for the same files in any order and time zone', async () => {
    const expected = digest(await archive(files, TIME));
    expect(digest(await archive(files.toReversed(), TIME))).toBe(expected);
    for (const zone of ['Asia/Tokyo', 'America/St_Johns']) {
      expect(digest(await inZone(zone, () => archive(files, TIME)))).toBe(expected);
    }
    expect(digest(await archive(files, new Date(TIME.getTime() + 60_000)))).not.toBe(expected);
  });
});

const unpackers = [
  ['tar.gz', 'tar', ['-xpf'], tarGz],
  ['zip', 'unzip', ['-q'], zip],
] as const;
for (const [name, tool, flags, archive] of unpackers) {
  // If a format's tool is missing here, the release tests the format.
  test.skipIf(Bun.which(tool) === null)(`${tool} unpacks a ${name} with times and modes`, async () => {
    using folder = dataDirectory();
    writeFileSync(join(folder.path, 'archive'), await archive(files, TIME));
    const { exitCode } = Bun.spawnSync([tool, ...flags, 'archive'], {
      cwd: folder.path,
      env: { ...process.env, TZ: 'UTC' },
    });
    expect(exitCode).toBe(0);
    const [program, licence] = ['program', 'LICENSE'].map((file) => statSync(join(folder.path, 'folder', file)));
    expect([program!.mode & 0o777, licence!.mode & 0o777]).toEqual([0o755, 0o644]);
    expect([program!.mtime, licence!.mtime]).toEqual([TIME, TIME]);
    expect(readFileSync(join(folder.path, 'folder/man/page.1'), 'utf8')).toBe('.TH\n');
  });
}

describe('a release', () => {
  let extras: Accompaniment;
  beforeAll(async () => {
    extras = await accompaniment(manifest.version, TIME);
  });

  /** Files in each archive besides the executable. */
  const companions = [
    'CHANGELOG.md',
    'LICENSE',
    'THIRD_PARTY_NOTICES.txt',
    'completions/_stackside',
    'completions/stackside.bash',
    'completions/stackside.fish',
    'man/stackside.1',
  ];

  test('contains an archive for each platform, with licences, a manual page and completions', async () => {
    const program = new Uint8Array([1, 2, 3]);
    const archives = await Promise.all(targetNames.map((target) => archiveOf(target, program, extras)));
    expect(archives.map(({ name }) => name)).toEqual(
      targetNames.map(
        (target) => `stackside-${manifest.version}-${target}.${target === 'windows-x64' ? 'zip' : 'tar.gz'}`,
      ),
    );
    const list = new TextDecoder().decode(Bun.gunzipSync(archives[0]!.bytes));
    for (const name of [...companions, 'stackside']) {
      expect(list).toContain(`stackside-${manifest.version}-linux-x64/${name}\0`);
    }
    expect(new TextDecoder('latin1').decode(archives.at(-1)?.bytes)).toContain('windows-x64/stackside.exe');
  });

  describe('contains notices', () => {
    let packages: readonly BundledPackage[];
    let notices = '';
    beforeAll(async () => {
      packages = await bundledPackages();
      notices = new TextDecoder().decode(extras.licences.find(({ path }) => path === 'THIRD_PARTY_NOTICES.txt')?.bytes);
    });

    test('for bundled packages: dependencies, packages of the console and their dependencies', () => {
      const names = packages.map(({ name }) => name);
      // Tests read files with hyparquet, which is also a dependency of hyparquet-writer.
      const tools = Object.keys(manifest.devDependencies).filter((name) => name !== 'hyparquet');
      expect(names).toEqual(expect.arrayContaining(['elysia', 'commander', 'preact', 'pino-std-serializers']));
      expect(names.filter((name) => tools.includes(name))).toEqual([]);
    });

    test("with each package's version and the complete text of its licence", () => {
      expect(packages.length).toBeGreaterThan(50);
      for (const { name, version, licence, texts } of packages) {
        const heading = `\n${name} ${version} (${licence})\n\n`;
        expect(notices).toContain(texts.length === 0 ? `${heading}The package has no file with its licence.` : heading);
        for (const text of texts) expect(notices).toContain(text);
      }
    });

    test('for the runtime with its libraries', () => {
      const runtime = `Bun ${manifest.devDependencies.bun}\n`;
      for (const text of [runtime, '`boringssl`', 'JavaScriptCore', 'Version 2.1, February 1999']) {
        expect(notices).toContain(text);
      }
    });
  });

  test('contains checksums in the format of sha256sum', () => {
    const first: ReleaseFile = { name: 'b.zip', bytes: new TextEncoder().encode('b') };
    const second: ReleaseFile = { name: 'a.zip', bytes: new TextEncoder().encode('a') };
    expect(checksums([first, second])).toBe(`${digest(second.bytes)}  a.zip\n${digest(first.bytes)}  b.zip\n`);
  });

  const here = targetHere();
  test.skipIf(executable === null || here === null)('unpacks to an executable that runs', async () => {
    const program = new Uint8Array(readFileSync(executable!));
    const { name, bytes } = await archiveOf(here!, program, extras, 0);
    const archive = join(directory.path, name);
    writeFileSync(archive, bytes);
    const path = await unpacked(archive, here!, directory.path);
    expect(Bun.spawnSync([path, '--version']).stdout.toString()).toStartWith(`stackside v${manifest.version} (`);
    const folder = join(path, '..');
    expect(readdirSync(folder, { recursive: true, encoding: 'utf8' })).toEqual(expect.arrayContaining(companions));
  });
});
