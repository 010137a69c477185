/** The packages for npm: `stackside`, which runs in Node, and one for each platform with the executable. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import project from '../package.json' with { type: 'json' };
import { type ArchivedFile, type Compression, tarGz, textFile } from './archive.ts';
import { executableName, type Target, type TargetName, targets } from './targets.ts';

/** The oldest Node that the launcher is written for. */
const NODE = '>=18';

/** The fields that npm reads before it downloads a package. */
export interface NpmManifest {
  name: string;
  version: string;
}

export interface NpmPackage {
  manifest: NpmManifest;
  /** Files of the package, without the manifest. */
  files: readonly ArchivedFile[];
}

export interface PackedPackage {
  manifest: NpmManifest;
  /** The file for `npm publish`. */
  archive: Uint8Array<ArrayBuffer>;
}

/** The file name that npm gives to a package's archive. */
export const archiveName = ({ name, version }: NpmManifest): string =>
  `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;

/** Packs a package. @param time modification time of all files */
export async function packed(
  { manifest, files }: NpmPackage,
  time: Date,
  level: Compression = 9,
): Promise<PackedPackage> {
  const all = [textFile('package.json', `${JSON.stringify(manifest, null, 2)}\n`), ...files];
  const inFolder = all.map((file) => ({ ...file, path: `package/${file.path}` }));
  return { manifest, archive: await tarGz(inFolder, time, level) };
}

/** The name of the package that holds the executable of a platform. */
export const platformPackage = (target: TargetName): string => `@stackside/${target}`;

const ownFile = (path: string): ArchivedFile['bytes'] => new Uint8Array(readFileSync(join(import.meta.dir, path)));

const executablePath = (target: TargetName): string => `bin/${executableName(target)}`;

const common = (version: string) => ({ version, license: project.license });

/**
 * The package of a platform.
 * @param executable the bytes
 * @param licences LICENSE and the notices
 */
export function executablePackage(
  target: TargetName,
  version: string,
  executable: ArchivedFile['bytes'],
  licences: readonly ArchivedFile[],
): NpmPackage {
  const { os, cpu, libc }: Target = targets[target];
  const manifest = {
    name: platformPackage(target),
    description: `The executable of Stackside for ${target}`,
    ...common(version),
    os: [os],
    cpu: [cpu],
    ...(libc === null ? {} : { libc: [libc] }),
    // Nothing imports it, and yarn must not keep it in an archive, from which it can't be run.
    preferUnplugged: true,
  };
  const file = { path: executablePath(target), bytes: executable, isExecutable: true };
  return { manifest, files: [file, ...licences] };
}

/**
 * The package that users name.
 * @param names the platforms that it can run on
 * @param testSupport the files of `stackside/test`
 */
export function mainPackage(
  names: readonly TargetName[],
  version: string,
  licence: ArchivedFile,
  testSupport: readonly ArchivedFile[],
): NpmPackage {
  const manifest = {
    name: 'stackside',
    description: project.description,
    ...common(version),
    keywords: ['stacks', 'blockchain', 'api', 'chainhooks', 'indexer'],
    bin: { stackside: 'bin/stackside.cjs' },
    exports: {
      './test': { types: './test/index.d.mts', default: './test/index.mjs' },
      './package.json': './package.json',
    },
    engines: { node: NODE },
    optionalDependencies: Object.fromEntries(names.map((name) => [platformPackage(name), version])),
  };
  const platforms = names.map((name) => {
    const { os, cpu, libc }: Target = targets[name];
    return { package: platformPackage(name), os, cpu, libc, executable: executablePath(name) };
  });
  return {
    manifest,
    files: [
      textFile('platforms.json', `${JSON.stringify(platforms, null, 2)}\n`),
      { path: 'bin/stackside.cjs', bytes: ownFile('npm/stackside.cjs'), isExecutable: true },
      { path: 'bin/executable.cjs', bytes: ownFile('npm/executable.cjs'), isExecutable: false },
      ...testSupport,
      { path: 'README.md', bytes: ownFile('npm/README.md'), isExecutable: false },
      licence,
    ],
  };
}
