/** A registry of npm packages on the loopback, to install from as users do before anything is published. */
import { createHash } from 'node:crypto';
import type { PackedPackage } from './npm-packages.ts';

export interface LocalRegistry extends Disposable {
  readonly url: string;
  /** The names of packages whose archives were downloaded. */
  readonly downloaded: ReadonlySet<string>;
}

const integrityOf = (archive: Uint8Array): string => `sha512-${createHash('sha512').update(archive).digest('base64')}`;

/** Serves the archives of packages on a free port, and answers 404 for every other package. */
export function localRegistry(packages: readonly PackedPackage[]): LocalRegistry {
  const downloaded = new Set<string>();
  const byName = new Map(packages.map((one) => [one.manifest.name, one]));
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request): Response {
      const path = decodeURIComponent(new URL(request.url).pathname).slice(1);
      const isArchive = path.endsWith('.tgz');
      const name = isArchive ? path.slice(0, -'.tgz'.length) : path;
      const found = byName.get(name);
      if (found === undefined) return new Response('Not found', { status: 404 });
      const { archive, manifest } = found;
      if (isArchive) {
        downloaded.add(name);
        return new Response(archive);
      }
      const { version } = manifest;
      const dist = { tarball: new URL(`/${name}.tgz`, request.url).href, integrity: integrityOf(archive) };
      return Response.json({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } });
    },
  });
  return { url: server.url.href, downloaded, [Symbol.dispose]: () => void server.stop(true) };
}
