/** The code of docs/devnet.md works as printed. */
import { expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { devnetRoutes } from '../../src/api/devnet/routes.ts';
import { demo } from './demo.ts';

const page = await Bun.file(join(import.meta.dir, '../../docs/devnet.md')).text();

test('the code of docs/devnet.md runs', async () => {
  await using server = await demo();
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  expect(code).toContain("'http://127.0.0.1:3999'");
  // The file is next to the tests, so that its imports resolve.
  const file = join(import.meta.dir, `.page-${crypto.randomUUID()}.mjs`);
  try {
    await Bun.write(file, code.replace('http://127.0.0.1:3999', server.api));
    await import(file);
  } finally {
    await rm(file, { force: true });
  }
  expect((await server.json<{ tip: { height: number } }>('/stackside/v1/devnet')).tip.height).toBeGreaterThan(3);
});

test('docs/devnet.md lists every route of the devnet', () => {
  const listed = [...page.matchAll(/^\| `(GET|POST) ([^`]+)`/gm)].map(([, method, path]) => `${method} ${path}`);
  expect(listed.sort()).toEqual(
    devnetRoutes(null)
      .map(({ method, path }) => `${method} ${path.slice('/stackside/v1/devnet/'.length) || '/'}`)
      .sort(),
  );
});
