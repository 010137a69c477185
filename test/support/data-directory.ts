/** Data directories that are gone when the test is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DataDirectory extends Disposable {
  readonly path: string;
}

/** For `using`: removed at the end of the block that made it. */
export function dataDirectory(): DataDirectory {
  const path = mkdtempSync(join(tmpdir(), 'stackside-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
