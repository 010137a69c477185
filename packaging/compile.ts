/** Compiles the executable. */
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { $ } from 'bun';
import { type ConsoleBundle, consoleBuild } from '../src/console/bundle.ts';
import * as threadUrls from '../src/thread-urls.ts';
import { type TargetName, targets } from './targets.ts';

const root = join(import.meta.dir, '..');

/** Branch and commit, for `server_version`. */
export interface Origin {
  branch: string;
  commit: string;
}

/** The commit of the source in hex; null for a source archive, which has none. */
export async function sourceCommit(): Promise<string | null> {
  const commit = (await $`git -C ${root} rev-parse HEAD`.quiet().nothrow().text()).trim();
  return commit === '' ? null : commit;
}

/** The eight digits of a commit that a version names. */
export const shortCommit = (commit: string | null): string => commit?.slice(0, 8) ?? 'archive';

/** The origin of a build from the source. */
export async function buildOrigin(): Promise<Origin> {
  const branch = (await $`git -C ${root} rev-parse --abbrev-ref HEAD`.quiet().nothrow().text()).trim();
  return { branch: branch === '' ? 'release' : branch, commit: shortCommit(await sourceCommit()) };
}

/** The executable ignores code and settings in the folder in which it is started. */
const NOTHING_OF_THE_FOLDER = {
  autoloadDotenv: false,
  autoloadBunfig: false,
  autoloadTsconfig: false,
  autoloadPackageJson: false,
};

/** The bundler's options for the program, compiled or not. */
const program = (origin: Origin, consoleBundle: ConsoleBundle) => ({
  entrypoints: [join(root, 'src/main.ts'), ...Object.values(threadUrls).map((url) => fileURLToPath(url))],
  format: 'esm' as const,
  define: {
    STACKSIDE_BRANCH: JSON.stringify(origin.branch),
    STACKSIDE_COMMIT: JSON.stringify(origin.commit),
    STACKSIDE_CONSOLE: JSON.stringify(consoleBundle),
    // A package that reads its folder's path would contain the path on the build machine, so builds in two folders would differ.
    __dirname: '"/$bunfs/root"',
  },
});

/**
 * Compiles the executable. The same source and the same name of the file give the same bytes, in every folder.
 *
 * Identifiers aren't minified, so that stack traces in the log name functions: shorter names would save 2 % of the file.
 * @param target null for this machine, with the Bun that runs
 * @returns its path
 */
export async function compile(
  target: TargetName | null,
  outfile: string,
  origin: Origin,
  consoleBundle: ConsoleBundle,
): Promise<string> {
  const { outputs } = await Bun.build({
    ...program(origin, consoleBundle),
    compile: { ...NOTHING_OF_THE_FOLDER, outfile, ...(target === null ? {} : { target: targets[target].bun }) },
    minify: { whitespace: true, syntax: true, identifiers: false },
    // Reading and compiling the sources took two fifths of a start. An executable of another platform that can't use the
    // compiled code uses the sources, which it also contains.
    bytecode: true,
  });
  const path = outputs[0]?.path;
  if (path === undefined) throw new Error(`${basename(outfile)} was not compiled`);
  return path;
}

/** Returns the files that the bundler reads for the executable: the program, the console and their packages. */
export async function bundledFiles(): Promise<string[]> {
  const nothing: ConsoleBundle = { script: '', style: '', files: [] };
  const builds = await Promise.all([
    Bun.build({ ...program({ branch: '', commit: '' }, nothing), target: 'bun', metafile: true }),
    Bun.build({ ...consoleBuild, metafile: true }),
  ]);
  // The bundler names files relative to the working directory.
  return builds.flatMap(({ metafile }) => Object.keys(metafile?.inputs ?? {})).map((file) => resolve(file));
}
