/**
 * Puts a version of the API reference page's script into src/http/scalar: `bun packaging/scalar.ts 1.72.1`.
 *
 * The package brings 160 MB of parts to make that one file from, so the file stands in this project instead.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'bun';

const PACKAGE = '@scalar/api-reference';
const FILE = 'dist/browser/standalone.js';
const folder = join(import.meta.dir, '../src/http/scalar');
const registry = process.env.npm_config_registry ?? 'https://registry.npmjs.org';

interface Release {
  license: string;
  dist: { tarball: string; integrity: string };
}

async function fetched(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`GET ${url} was answered with ${response.status}.`);
  return response;
}

const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('Name the version: bun packaging/scalar.ts 1.72.1');

const release = (await (await fetched(new URL(`${PACKAGE}/${version}`, `${registry}/`).href)).json()) as Release;
const tarball = await (await fetched(release.dist.tarball)).bytes();
const [algorithm, digest] = release.dist.integrity.split('-', 2);
if (createHash(algorithm!).update(tarball).digest('base64') !== digest) {
  throw new Error(
    `${release.dist.tarball} doesn't have the integrity ${release.dist.integrity} that the registry names.`,
  );
}

const unpacked = mkdtempSync(join(tmpdir(), 'scalar-'));
try {
  await $`tar -xzf - -C ${unpacked} package/${FILE} < ${tarball}`;
  const script = await Bun.file(join(unpacked, 'package', FILE)).bytes();
  await Bun.write(join(folder, 'standalone.js.gz'), Bun.gzipSync(script, { level: 9 }));
  const origin = {
    package: PACKAGE,
    version,
    license: release.license,
    file: FILE,
    integrity: release.dist.integrity,
    sha256: createHash('sha256').update(script).digest('hex'),
  };
  await Bun.write(join(folder, 'origin.json'), `${JSON.stringify(origin, null, 2)}\n`);
} finally {
  rmSync(unpacked, { recursive: true });
}
