/**
 * Builds the executable: `bun build.ts` for this platform, `bun build.ts --target linux-arm64-musl …` or `--all` for others.
 * Writes them to dist/; --outfile names the file for this platform.
 *
 * `bun build.ts --release VERSION` makes a release of all platforms, or of those that --target names: archives with
 * SHA256SUMS in dist/release, packages for npm in dist/npm. Then it runs the parts that this platform can run.
 */
import { parseArgs } from 'node:util';
import { buildOrigin, compile } from './packaging/compile.ts';
import { makeRelease, type Release } from './packaging/release.ts';
import { inFolder, tryArchive, tryPackages } from './packaging/smoke.ts';
import { isTarget, type TargetName, targetHere, targetNames } from './packaging/targets.ts';
import { bundleConsole } from './src/console/bundle.ts';

const say = (text: string): boolean => process.stdout.write(`${text}\n`);

async function build(names: readonly TargetName[], outfile: string): Promise<void> {
  const [origin, consoleBundle] = [await buildOrigin(), await bundleConsole()];
  const files = names.map((name): [TargetName, string] => [name, `dist/stackside-${name}`]);
  for (const [target, path] of files.length === 0 ? [[null, outfile] as const] : files) {
    const file = await compile(target, path, origin, consoleBundle);
    say(`${file} ${(Bun.file(file).size / 1e6).toFixed(0)} MB`);
  }
}

/** Runs the archive of this platform and the packages of a release. */
async function tryRelease({ version, archives, packages }: Release): Promise<void> {
  const here = targetHere();
  const archive = here === null ? undefined : archives.get(here);
  if (here === null || archive === undefined) {
    say('The release has nothing for this platform, so that none of it was tried.');
    return;
  }
  await inFolder((folder) => tryArchive(archive, here, version, folder));
  say(`The archive of ${here} was unpacked and runs.`);
  await inFolder(async (folder) => {
    const start = performance.now();
    const { height } = await tryPackages(packages, folder);
    const seconds = ((performance.now() - start) / 1_000).toFixed(1);
    say(`npx stackside demo, with an empty cache, had block ${height} and had ended after ${seconds} s.`);
  });
}

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true, default: [] },
    all: { type: 'boolean', default: false },
    outfile: { type: 'string', default: 'dist/stackside' },
    release: { type: 'string' },
  },
});
const unknown = values.target.filter((name) => !isTarget(name));
if (unknown.length > 0) {
  process.stderr.write(`Unknown target ${unknown.join(', ')}. Known: ${targetNames.join(', ')}.\n`);
  process.exit(1);
}
const targets = values.target.filter(isTarget);
if (values.release === undefined) {
  await build(values.all ? targetNames : targets, values.outfile);
} else {
  await tryRelease(await makeRelease(values.release, targets.length === 0 ? targetNames : targets, 'dist'));
}
