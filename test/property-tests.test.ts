/** Property tests run in one way, which bounds how long a broken one is shrunk and says how to replay it. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { assertProperty, assertSeeds, casesOf } from './support/property.ts';

const long = fc.array(fc.nat(), { minLength: 30, maxLength: 60 });

/** A property that fails for every case. @returns how often it ran, and what was reported */
async function broken(options: Parameters<typeof assertProperty>[1], how: 'sync' | 'async') {
  let runs = 0;
  const fails = (list: readonly number[]) => {
    runs += 1;
    expect(list.length).toBeLessThan(30);
  };
  const run = (): Promise<void> | void =>
    how === 'sync'
      ? assertProperty(fc.property(long, fails), options as object)
      : assertProperty(
          fc.asyncProperty(long, async (list) => fails(list)),
          options as object,
        );
  const failure = await (async () => run())().then(
    () => null,
    (error: Error) => error.message,
  );
  return { runs, failure };
}

test.each(['sync', 'async'] as const)('a broken %s property is shrunk no longer than it may be', async (how) => {
  const cut = await broken({ shrinkFor: 0 }, how);
  expect(cut).toEqual({ runs: 1, failure: expect.stringContaining('Shrunk 0 time(s)') });
  const whole = await broken({}, how);
  expect(whole.runs).toBeGreaterThan(2);
  expect(whole.failure).toMatch(/seed: -?\d+, path: "[\d:]+"/);
  expect(whole.failure).toContain(`Counterexample: [[${Array(30).fill(0).join(',')}]]`);
  expect(await broken({ shrink: false }, how)).toMatchObject({ runs: 1 });
});

test('a property that holds tries as many cases as it asks for', () => {
  let runs = 0;
  assertProperty(
    fc.property(fc.nat(), () => {
      runs += 1;
    }),
    { cases: 7, examples: [[1]] },
  );
  expect(runs).toBeGreaterThanOrEqual(7);
});

test('seeds are counted up from the first, and one alone brings its failure back', async () => {
  const tried: number[] = [];
  let failing: number | null = null;
  const property = fc.asyncProperty(fc.noShrink(fc.nat()), async (drawn) => {
    tried.push(drawn);
    expect(drawn).not.toBe(failing ?? Number.NaN);
  });
  await assertSeeds(property, { cases: 5, seed: 40 });
  const all = tried.splice(0);
  expect(new Set(all).size).toBe(casesOf(5));
  failing = all.at(-1) ?? null;
  const seed = 40 + all.length - 1;
  const failure = await assertSeeds(property, { cases: 1, seed }).catch((error: Error) => error.message);
  expect(failure).toContain(`seed: ${seed},`);
  expect(tried[0]).toBe(all.at(-1));
});

test('every property test is run by assertProperty or assertSeeds', () => {
  const files = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' });
  const direct = files.filter(
    (file) =>
      file.endsWith('.ts') &&
      file !== join('support', 'property.ts') &&
      /\bfc\.(assert|check)\(/.test(readFileSync(join(import.meta.dir, file), 'utf8')),
  );
  expect(direct).toEqual([]);
});
