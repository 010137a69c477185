/** The licences of the packages and the runtime in an executable. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { bundledFiles } from './compile.ts';

const root = join(import.meta.dir, '..');
const LICENCE = /^(licen[cs]e|copying|notice)(\.|$)/i;

interface Manifest {
  name: string;
  version: string;
  license?: string;
  author?: string | { name?: string };
  repository?: string | { url?: string };
}

/** A package in the executable. */
export interface BundledPackage {
  name: string;
  version: string;
  /** The licence that its manifest names. */
  licence: string;
  author: string | null;
  /** The texts of its licence files. */
  texts: string[];
}

const nameOf = (author: Manifest['author']): string | null =>
  (typeof author === 'string' ? author : author?.name) ?? null;

/** Reads a package from its folder. @throws Error if it names no licence */
function packageIn(folder: string): BundledPackage {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  if (license === undefined) throw new Error(`${name} names no licence`);
  const files = readdirSync(folder).filter((file) => LICENCE.test(file));
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return { name, version, licence: license, author: nameOf(author), texts };
}

/** Returns the folder of a file's package; null for a file of the project. */
function packageFolder(file: string): string | null {
  const folders = file.split(sep);
  const last = folders.lastIndexOf('node_modules');
  if (last === -1) return null;
  const isScoped = folders[last + 1]?.startsWith('@') === true;
  return folders.slice(0, last + (isScoped ? 3 : 2)).join(sep);
}

async function findPackages(): Promise<BundledPackage[]> {
  const folders = new Set((await bundledFiles()).flatMap((file) => packageFolder(file) ?? []));
  const packages = [...folders].map(packageIn);
  // A version of a package has the same licence in every folder.
  const byName = new Map(packages.map((one) => [`${one.name}@${one.version}`, one]));
  return [...byName.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

let found: Promise<readonly BundledPackage[]> | undefined;

/** Returns the packages in the executable, by name and version. The first call bundles the program to find them. */
export function bundledPackages(): Promise<readonly BundledPackage[]> {
  found ??= findPackages();
  return found;
}

const readText = (path: string): string => readFileSync(join(root, path), 'utf8').trim();

/** The text of Bun's documentation about the licences of Bun and its libraries, without the page's head. */
function runtimeLicence(): string {
  const path = join(root, 'node_modules/bun-types/docs/project/license.mdx');
  if (!existsSync(path)) throw new Error('bun-types has no page about the licence of Bun');
  return readFileSync(path, 'utf8')
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .trim();
}

const RULE = `\n\n${'='.repeat(80)}\n\n`;

/** The text of the MIT licence, without a copyright line. */
function mitLicence(): string {
  const licence = readText('LICENSE');
  return licence.slice(licence.indexOf('Permission is hereby granted'));
}

/** @throws Error if a package has no licence file, and its manifest names a licence without a text in this file */
function textsOf({ name, licence, author, texts }: BundledPackage): string[] {
  if (texts.length > 0) return texts;
  if (licence !== 'MIT') throw new Error(`${name} has no file with its licence, ${licence}`);
  const by = author === null ? '' : ` and the author ${author}`;
  return [`The package has no file with its licence. Its manifest names the licence MIT${by}.`, mitLicence()];
}

const section = (one: BundledPackage): string =>
  [`${one.name} ${one.version} (${one.licence})`, ...textsOf(one)].join('\n\n');

/** Returns the notices as a text, with the licences that they refer to. @param bun the version of the runtime */
export async function thirdPartyNotices(bun: string): Promise<string> {
  const packages = await bundledPackages();
  const intro =
    'The executable of Stackside holds the following works of others. LICENSE has the licence of Stackside itself.';
  const runtime = `Bun ${bun}\n\n${runtimeLicence()}`;
  const library = `The GNU Lesser General Public License, of JavaScriptCore and TinyCC in Bun\n\n${readText('packaging/licences/LGPL-2.1.txt')}`;
  return `${[intro, ...packages.map(section), runtime, library].join(RULE)}\n`;
}
