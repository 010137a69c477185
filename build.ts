/**
 * Compiles the executable: `bun build.ts` for this platform, `bun build.ts --target linux-arm64-musl …` or `--all` for
 * others. They are written to dist/, or this platform's to --outfile.
 *
 * Identifiers are not minified: Elysia compares class names at run time, and its answers to invalid requests break in
 * silence without them.
 */
import { parseArgs } from 'node:util';
import { $, type Build } from 'bun';
import { bundleConsole } from './src/console/bundle.ts';

const targets = {
  'linux-x64': 'bun-linux-x64',
  'linux-arm64': 'bun-linux-arm64',
  'linux-x64-musl': 'bun-linux-x64-musl',
  'linux-arm64-musl': 'bun-linux-arm64-musl',
  'macos-arm64': 'bun-darwin-arm64',
  'macos-x64': 'bun-darwin-x64',
  'windows-x64': 'bun-windows-x64',
} as const satisfies Record<string, Build.CompileTarget>;
type Target = keyof typeof targets;

const names = Object.keys(targets) as Target[];
const isTarget = (name: string): name is Target => name in targets;

/** Branch and commit, for `server_version`; a source archive has none. */
async function buildOrigin(): Promise<{ branch: string; commit: string }> {
  const branch = (await $`git rev-parse --abbrev-ref HEAD`.quiet().nothrow().text()).trim();
  const commit = (await $`git rev-parse --short=8 HEAD`.quiet().nothrow().text()).trim();
  return commit === '' ? { branch: 'release', commit: 'archive' } : { branch, commit };
}

/** The folder that the executable is started in decides neither what code it runs nor its settings. */
const NOTHING_OF_THE_FOLDER = {
  autoloadDotenv: false,
  autoloadBunfig: false,
  autoloadTsconfig: false,
  autoloadPackageJson: false,
};

async function compile(target: Target | null, outfile: string): Promise<void> {
  const result = await Bun.build({
    entrypoints: ['src/main.ts', 'src/api-thread.ts'],
    compile: { ...NOTHING_OF_THE_FOLDER, outfile, ...(target === null ? {} : { target: targets[target] }) },
    minify: { whitespace: true, syntax: true, identifiers: false },
    // Reading and compiling the sources was two fifths of the time of a start. An executable of another platform that can't
    // use what was compiled here goes back to the sources, which it holds as well.
    bytecode: true,
    format: 'esm',
    define: {
      STACKSIDE_BRANCH: JSON.stringify(origin.branch),
      STACKSIDE_COMMIT: JSON.stringify(origin.commit),
      STACKSIDE_CONSOLE: JSON.stringify(consoleBundle),
    },
  });
  for (const { path } of result.outputs) process.stdout.write(`${path} ${(Bun.file(path).size / 1e6).toFixed(0)} MB\n`);
}

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true, default: [] },
    all: { type: 'boolean', default: false },
    outfile: { type: 'string', default: 'dist/stackside' },
  },
});
const unknown = values.target.filter((name) => !isTarget(name));
if (unknown.length > 0) {
  process.stderr.write(`Unknown target ${unknown.join(', ')}. Known: ${names.join(', ')}.\n`);
  process.exit(1);
}
const chosen = values.all ? names : values.target.filter(isTarget);
const origin = await buildOrigin();
const consoleBundle = await bundleConsole();
if (chosen.length === 0) await compile(null, values.outfile);
for (const target of chosen) await compile(target, `dist/stackside-${target}`);
