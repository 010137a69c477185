/** The npm packages in a directory, as npm installs them. Their executable is the one that the end-to-end tests run. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { textFile } from '../../packaging/archive.ts';
import { mainPackage, platformPackage } from '../../packaging/npm-packages.ts';
import { targetHere, targetNames } from '../../packaging/targets.ts';
import { testSupport } from '../../packaging/test-support.ts';
import { command } from '../e2e/stackside.ts';

/** Writes a shell script. @returns its path */
export function script(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Installs `stackside`. @param directory of the project to install it in @returns the path of the executable */
export async function installPackage(directory: string): Promise<string> {
  const modules = join(directory, 'node_modules');
  const { files, manifest: ownManifest } = mainPackage(
    targetNames,
    manifest.version,
    textFile('LICENSE', 'MIT\n'),
    await testSupport(),
  );
  for (const { path, bytes } of [...files, textFile('package.json', JSON.stringify(ownManifest))]) {
    mkdirSync(dirname(join(modules, 'stackside', path)), { recursive: true });
    writeFileSync(join(modules, 'stackside', path), bytes);
  }
  const platform = join(modules, platformPackage(targetHere() ?? 'linux-x64'));
  const program = command.map((word) => `'${word}'`).join(' ');
  const executable = script(join(platform, 'bin/stackside'), `exec ${program} "$@"`);
  writeFileSync(join(platform, 'package.json'), '{}');
  return executable;
}
