/** Prints the section of CHANGELOG.md about a version: `bun packaging/release-notes.ts 0.1.0`. */
import { join } from 'node:path';

/** Returns the section of a version, without its heading. @throws Error if it is missing or empty */
export function releaseNotes(changelog: string, version: string): string {
  const section = changelog.split(/^## /m).find((text) => text.split(/[\s,]/, 1)[0] === version);
  const notes = section?.slice(section.indexOf('\n')).trim() ?? '';
  if (notes === '')
    throw new Error(`CHANGELOG.md has nothing about ${version}: its section begins with "## ${version}".`);
  return notes;
}

if (import.meta.main) {
  const [version] = process.argv.slice(2);
  if (version === undefined) throw new Error('Name the version: bun packaging/release-notes.ts 0.1.0');
  const changelog = await Bun.file(join(import.meta.dir, '../CHANGELOG.md')).text();
  process.stdout.write(`${releaseNotes(changelog, version)}\n`);
}
