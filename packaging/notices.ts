/** The licences of what an executable holds besides the project's own code. */
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

/** A package that stands in the executable. */
export interface BundledPackage {
  name: string;
  version: string;
  /** The licence that its manifest names. */
  licence: string;
  author: string | null;
  /** The texts of its licence files; none where it has no such file. */
  texts: string[];
}

const nameOf = (author: Manifest['author']): string | null =>
  (typeof author === 'string' ? author : author?.name) ?? null;

/** A package from its folder. @throws Error where it names no licence */
function packageIn(folder: string): BundledPackage {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  if (license === undefined) throw new Error(`${name} names no licence`);
  const files = readdirSync(folder).filter((file) => LICENCE.test(file));
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return { name, version, licence: license, author: nameOf(author), texts };
}

/** The folder of the package that a file belongs to; null for a file of the project itself. */
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
  // A package that stands in two folders in one version has one licence.
  const byName = new Map(packages.map((one) => [`${one.name}@${one.version}`, one]));
  return [...byName.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

let found: Promise<readonly BundledPackage[]> | undefined;

/** The packages that stand in the executable, by name and version. The first call bundles the program to see them. */
export function bundledPackages(): Promise<readonly BundledPackage[]> {
  found ??= findPackages();
  return found;
}

const readText = (path: string): string => readFileSync(join(root, path), 'utf8').trim();

/** What Bun's documentation says of its licence and of the libraries in it, without the page's head. */
function runtimeLicence(): string {
  const path = join(root, 'node_modules/bun-types/docs/project/license.mdx');
  if (!existsSync(path)) throw new Error('bun-types has no page about the licence of Bun');
  return readFileSync(path, 'utf8')
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .trim();
}

const RULE = `\n\n${'='.repeat(80)}\n\n`;

/** What the MIT licence permits, without whose copyright it is. */
function mitLicence(): string {
  const licence = readText('LICENSE');
  return licence.slice(licence.indexOf('Permission is hereby granted'));
}

/** @throws Error where the manifest alone names a licence, and not one whose text is known here */
function textsOf({ name, licence, author, texts }: BundledPackage): string[] {
  if (texts.length > 0) return texts;
  if (licence !== 'MIT') throw new Error(`${name} has no file with its licence, ${licence}`);
  const by = author === null ? '' : ` and the author ${author}`;
  return [`The package has no file with its licence. Its manifest names the licence MIT${by}.`, mitLicence()];
}

const section = (one: BundledPackage): string =>
  [`${one.name} ${one.version} (${one.licence})`, ...textsOf(one)].join('\n\n');

/** The notices as a text, and whatever licences they refer to. @param bun the version of the runtime */
export async function thirdPartyNotices(bun: string): Promise<string> {
  const packages = await bundledPackages();
  const intro =
    'The executable of Stackside holds the following works of others. LICENSE has the licence of Stackside itself.';
  const runtime = `Bun ${bun}\n\n${runtimeLicence()}`;
  const library = `The GNU Lesser General Public License, of JavaScriptCore and TinyCC in Bun\n\n${readText('packaging/licences/LGPL-2.1.txt')}`;
  return `${[intro, ...packages.map(section), runtime, library].join(RULE)}\n`;
}
