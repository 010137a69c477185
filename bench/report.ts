/** Makes the tables and pictures of the documentation from the results that are kept. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, say } from './harness.ts';
import { documents } from './parts/documents.ts';

for (const [path, content] of documents()) {
  writeFileSync(join(ROOT, path), content);
  say(path);
}
