/** The documentation's numbers and charts match the stored results. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { ROOT } from '../../bench/harness.ts';
import { documents, rewritten } from '../../bench/parts/documents.ts';

test('tables and pictures equal the output of bench/report.ts for the results', async () => {
  const made = documents();
  expect([...made.keys()]).toContain('docs/sizing.md');
  for (const [path, content] of made) {
    const text = await Bun.file(join(ROOT, path)).text();
    if (text !== content) throw new Error(`${path} differs from its results: run bun bench/report.ts`);
  }
});

test('figures replace the text between their marks, and nothing else', () => {
  const text = 'before\n<!-- figures: goals -->\nold\n<!-- end of figures -->\nafter';
  const lines = rewritten(text).split('\n');
  expect(lines.slice(0, 2)).toEqual(['before', '<!-- figures: goals -->']);
  expect(lines.slice(-2)).toEqual(['<!-- end of figures -->', 'after']);
  expect(lines).not.toContain('old');
  expect(() => rewritten('<!-- figures: goals -->\nold')).toThrow('is missing');
  expect(() => rewritten('<!-- figures: no-such-result -->\n<!-- end of figures -->')).toThrow('no-such-result');
});
