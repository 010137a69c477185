/** Makes the files of a release: archives with checksums in dist/release, packages for npm in dist/npm. */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { $ } from 'bun';
import manifest from '../package.json' with { type: 'json' };
import { bundleConsole } from '../src/console/bundle.ts';
import { type ArchivedFile, bytesOf, type Compression, tarGz, textFile, zip } from './archive.ts';
import { compile, shortCommit, sourceCommit } from './compile.ts';
import { bashCompletion } from './completions/bash.ts';
import { fishCompletion } from './completions/fish.ts';
import { zshCompletion } from './completions/zsh.ts';
import { manualPage } from './manual.ts';
import { thirdPartyNotices } from './notices.ts';
import { archiveName, executablePackage, mainPackage, type PackedPackage, packed } from './npm-packages.ts';
import {
  archiveFolder,
  archiveNameOf,
  executableName,
  imageTargets,
  type TargetName,
  targetNames,
  targets,
} from './targets.ts';
import { testSupport } from './test-support.ts';

const root = join(import.meta.dir, '..');

/** A file of a release with its bytes. */
export interface ReleaseFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The files of all archives of a release, without the executable. */
export interface Accompaniment {
  version: string;
  /** Modification time of all files: the time of the source. */
  time: Date;
  licences: ArchivedFile[];
  /** The manual page and completions. */
  texts: ArchivedFile[];
}

const projectFile = (path: string): ArchivedFile => ({
  path,
  bytes: new Uint8Array(readFileSync(join(root, path))),
  isExecutable: false,
});

/** @param time of the source */
export async function accompaniment(version: string, time: Date): Promise<Accompaniment> {
  return {
    version,
    time,
    licences: [
      projectFile('LICENSE'),
      textFile('THIRD_PARTY_NOTICES.txt', await thirdPartyNotices(manifest.devDependencies.bun)),
    ],
    texts: [
      projectFile('CHANGELOG.md'),
      textFile('man/stackside.1', manualPage(version, time)),
      textFile('completions/stackside.bash', bashCompletion()),
      textFile('completions/_stackside', zshCompletion()),
      textFile('completions/stackside.fish', fishCompletion()),
    ],
  };
}

/** The archive of a platform, with everything in one folder: a zip for Windows, else a tar compressed with gzip. */
export async function archiveOf(
  target: TargetName,
  executable: ArchivedFile['bytes'],
  { version, time, licences, texts }: Accompaniment,
  level: Compression = 9,
): Promise<ReleaseFile> {
  const [name, folder] = [archiveNameOf(target, version), archiveFolder(target, version)];
  const program = { path: executableName(target), bytes: executable, isExecutable: true };
  const files = [program, ...licences, ...texts].map((file) => ({ ...file, path: `${folder}/${file.path}` }));
  return targets[target].os === 'win32'
    ? { name, bytes: zip(files, time, level) }
    : { name, bytes: await tarGz(files, time, level) };
}

/** Returns the lines of SHA256SUMS for `sha256sum --check`. */
export const checksums = (files: readonly ReleaseFile[]): string =>
  files
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, bytes }) => `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`)
    .join('');

/** Returns the time of the source's commit; for a source archive without a commit, the first time that a zip can hold. */
async function sourceTime(): Promise<Date> {
  const seconds = (await $`git -C ${root} log -1 --format=%ct`.quiet().nothrow().text()).trim();
  return seconds === '' ? new Date('1980-01-01T00:00:00Z') : new Date(Number(seconds) * 1_000);
}

/** The files of a release for one platform. */
interface Platform {
  name: TargetName;
  archive: ReleaseFile;
  package: PackedPackage;
}

async function platformOf(
  name: TargetName,
  executable: ArchivedFile['bytes'],
  beside: Accompaniment,
): Promise<Platform> {
  const { version, time, licences } = beside;
  return {
    name,
    archive: await archiveOf(name, executable, beside),
    package: await packed(executablePackage(name, version, executable, licences), time),
  };
}

/** Replaces the contents of a folder. */
function writeFiles(folder: string, files: readonly ReleaseFile[]): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { name, bytes } of files) {
    writeFileSync(join(folder, name), bytes);
    process.stdout.write(`${join(folder, name)} ${(bytes.length / 1e6).toFixed(1)} MB\n`);
  }
}

/** Writes the files that the Containerfile copies: an executable for each processor, and the licences. */
function writeImageFiles(
  folder: string,
  executables: ReadonlyMap<TargetName, string>,
  licences: readonly ArchivedFile[],
): void {
  rmSync(folder, { recursive: true, force: true });
  for (const [processor, target] of Object.entries(imageTargets)) {
    const path = executables.get(target);
    if (path === undefined) continue;
    mkdirSync(join(folder, processor), { recursive: true });
    copyFileSync(path, join(folder, processor, executableName(target)));
  }
  mkdirSync(folder, { recursive: true });
  for (const { path, bytes } of licences) writeFileSync(join(folder, path), bytes);
}

/** The parts of a release. */
export interface Release {
  version: string;
  /** The paths of the archives, by platform. */
  archives: ReadonlyMap<TargetName, string>;
  packages: readonly PackedPackage[];
}

/**
 * Makes a release from the source as it is. The same source gives the same bytes.
 * @param version must be that of package.json
 * @param names the platforms; fewer than all make a release to try
 * @param dist the folder
 */
export async function makeRelease(version: string, names: readonly TargetName[], dist: string): Promise<Release> {
  if (version !== manifest.version) {
    throw new Error(`package.json has the version ${manifest.version}, not ${version}: change it first.`);
  }
  const origin = { branch: 'release', commit: shortCommit(await sourceCommit()) };
  const [consoleBundle, beside] = [await bundleConsole(), await accompaniment(version, await sourceTime())];
  const executables = new Map(names.map((name) => [name, join(dist, 'executables', name, executableName(name))]));
  const platforms: Platform[] = [];
  for (const [name, path] of executables) {
    await compile(name, path, origin, consoleBundle);
    platforms.push(await platformOf(name, new Uint8Array(readFileSync(path)), beside));
  }
  writeImageFiles(join(dist, 'image'), executables, beside.licences);
  const main = await packed(
    mainPackage(targetNames, version, projectFile('LICENSE'), await testSupport()),
    beside.time,
  );
  const packages = [main, ...platforms.map((platform) => platform.package)];
  const archives = platforms.map(({ archive }) => archive);
  const releaseFolder = join(dist, 'release');
  writeFiles(releaseFolder, [...archives, { name: 'SHA256SUMS', bytes: bytesOf(checksums(archives)) }]);
  writeFiles(
    join(dist, 'npm'),
    packages.map((one) => ({ name: archiveName(one.manifest), bytes: one.archive })),
  );
  return {
    version,
    archives: new Map(platforms.map(({ name, archive }) => [name, resolve(releaseFolder, archive.name)])),
    packages,
  };
}
