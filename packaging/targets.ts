/** The platforms with an executable. */
import type { Build } from 'bun';

export interface Target {
  /** Bun's runtime for the executable. */
  bun: Build.CompileTarget;
  /** The platform's names in npm. */
  os: NodeJS.Platform;
  cpu: 'x64' | 'arm64';
  /** The C library; null if the system has only one. */
  libc: 'glibc' | 'musl' | null;
}

/**
 * Bun's runtimes for x64 need only the instructions of 2008 (SSE 4.2): its packages `…-x64` and `…-x64-baseline` hold the
 * same bytes since Bun 1.4, so old processors don't need a separate executable.
 */
export const targets = {
  'linux-x64': { bun: 'bun-linux-x64', os: 'linux', cpu: 'x64', libc: 'glibc' },
  'linux-arm64': { bun: 'bun-linux-arm64', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'linux-x64-musl': { bun: 'bun-linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl' },
  'linux-arm64-musl': { bun: 'bun-linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl' },
  'macos-arm64': { bun: 'bun-darwin-arm64', os: 'darwin', cpu: 'arm64', libc: null },
  'macos-x64': { bun: 'bun-darwin-x64', os: 'darwin', cpu: 'x64', libc: null },
  'windows-x64': { bun: 'bun-windows-x64', os: 'win32', cpu: 'x64', libc: null },
} as const satisfies Record<string, Target>;

/** The executable in a container image, by the processor's name in container images. */
export const imageTargets = { amd64: 'linux-x64', arm64: 'linux-arm64' } as const satisfies Record<string, TargetName>;

export type TargetName = keyof typeof targets;

export const targetNames = Object.keys(targets) as TargetName[];

export const isTarget = (name: string): name is TargetName => name in targets;

/** The name of the executable's file. Bun also writes this name into the executable. */
export const executableName = (name: TargetName): string =>
  targets[name].os === 'win32' ? 'stackside.exe' : 'stackside';

/** The folder in the archive of a platform. */
export const archiveFolder = (name: TargetName, version: string): string => `stackside-${version}-${name}`;

/** The name of the archive of a platform. */
export const archiveNameOf = (name: TargetName, version: string): string =>
  `${archiveFolder(name, version)}${targets[name].os === 'win32' ? '.zip' : '.tar.gz'}`;

/** Returns the C library of this machine; null if the system has only one. */
function libcHere(): Target['libc'] {
  if (process.platform !== 'linux') return null;
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** Returns the target of this machine; null if there is none. */
export function targetHere(): TargetName | null {
  const libc = libcHere();
  const found = targetNames.find((name) => {
    const target: Target = targets[name];
    return target.os === process.platform && target.cpu === process.arch && target.libc === libc;
  });
  return found ?? null;
}
