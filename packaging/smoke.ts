/**
 * Tries the release for this platform like a user: from the archive, and with npx.
 *
 * `bun packaging/smoke.ts dist/release` tries the archive that another machine made for this one.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { localRegistry } from './local-registry.ts';
import type { PackedPackage } from './npm-packages.ts';
import { archiveNameOf, executableName, type TargetName, targetHere } from './targets.ts';

type Environment = Record<string, string | undefined>;

/** The flags of a demo that mines no blocks after its start. */
const DEMO = ['demo', '--api-port', '0', '--event-port', '0', '--block-time', '0', '--past-blocks', '3'];

/** Runs a command to its end. @returns its output @throws Error with its output on stderr */
async function outputOf(command: readonly string[], cwd: string, env: Environment = process.env): Promise<string> {
  const child = Bun.spawn([...command], { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [out, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${errors}`);
  return out;
}

/** A demo that was tried. */
interface Tried {
  /** The height of its newest block. */
  height: number;
  /** The exit code of the command. */
  code: number;
}

/**
 * Starts a demo, requests its newest block, stops it, and waits until all processes of the command have ended.
 * @throws Error if the demo doesn't start, or has no block
 */
export async function tryDemo(command: readonly string[], cwd: string, env: Environment = process.env): Promise<Tried> {
  const child = Bun.spawn([...command, ...DEMO], { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  let out = '';
  let height = 0;
  // The stream ends once no process has it open any more.
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    out += chunk;
    if (height > 0 || !out.includes('\n')) continue;
    const { api } = JSON.parse(out) as { api: string };
    const status = (await (await fetch(`${api}/extended`)).json()) as { chain_tip?: { block_height: number } };
    height = status.chain_tip?.block_height ?? 0;
    child.kill('SIGTERM');
  }
  if (height === 0) throw new Error(`the demo has no block: ${out}`);
  return { height, code: await child.exited };
}

/** Unpacks an archive as its users do. @returns the path of the executable */
export async function unpacked(archive: string, target: TargetName, folder: string): Promise<string> {
  const command = archive.endsWith('.zip')
    ? ['powershell', '-NoProfile', '-Command', `Expand-Archive -Path '${archive}' -DestinationPath .`]
    : ['tar', '-xzf', archive];
  await outputOf(command, folder);
  return join(folder, basename(archive).replace(/\.(tar\.gz|zip)$/, ''), executableName(target));
}

/** Tries an archive. @param folder an empty folder @throws Error if anything is wrong */
export async function tryArchive(archive: string, target: TargetName, version: string, folder: string): Promise<void> {
  const program = await unpacked(archive, target, folder);
  const said = await outputOf([program, '--version'], folder);
  if (!said.startsWith(`stackside v${version} (`)) throw new Error(`the executable has another version: ${said}`);
  const { code } = await tryDemo([program], folder);
  // Windows has no signal that a program can handle.
  if (code !== 0 && process.platform !== 'win32') throw new Error(`the demo ended with ${code}`);
}

/** The variables of npm for a new user: an empty cache, no settings. */
function freshNpm(folder: string, registry: string): Environment {
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return {
    ...Object.fromEntries(inherited),
    HOME: folder,
    npm_config_cache: join(folder, 'cache'),
    npm_config_userconfig: join(folder, 'npmrc'),
    npm_config_registry: registry,
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    // The registry is on this machine, so a failed request is a fault. npm would retry it for a quarter of an hour.
    npm_config_fetch_retries: '0',
    npm_config_fetch_timeout: '60000',
  };
}

export interface TriedPackages {
  /** The height of the demo's newest block. */
  height: number;
  /** The packages that npx downloaded. */
  downloaded: string[];
}

/** Tries packages: `npx stackside demo` from a registry that has only these. @param folder an empty folder */
export async function tryPackages(packages: readonly PackedPackage[], folder: string): Promise<TriedPackages> {
  using registry = localRegistry(packages);
  const project = join(folder, 'project');
  mkdirSync(project);
  const npx = Bun.which('npx');
  if (npx === null) throw new Error('npx is not installed');
  const { height } = await tryDemo([npx, '--yes', 'stackside'], project, freshNpm(folder, registry.url));
  return { height, downloaded: [...registry.downloaded].sort() };
}

/** Runs a function in a temporary folder. */
export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'stackside-release-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const [from] = process.argv.slice(2);
  const target = targetHere();
  if (from === undefined) throw new Error('Name the folder with the archives: bun packaging/smoke.ts dist/release');
  if (target === null) throw new Error('there is no executable for this platform');
  const { version } = manifest;
  const archive = resolve(from, archiveNameOf(target, version));
  await inFolder((folder) => tryArchive(archive, target, version, folder));
  process.stdout.write(`${archive} was unpacked and runs.\n`);
}
