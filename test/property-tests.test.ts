/** All property tests run the same way. It limits how long a failing one shrinks, and prints how to replay it. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { assertProperty, assertSeeds, casesOf, Seen } from './support/property.ts';

const long = fc.array(fc.nat(), { minLength: 30, maxLength: 60 });

/** Runs a property that fails for every case. @returns the number of runs, and the report */
async function runBroken(options: { shrink?: boolean; shrinkFor?: number }, how: 'sync' | 'async') {
  let runs = 0;
  const fails = (list: readonly number[]) => {
    runs += 1;
    expect(list.length).toBeLessThan(30);
  };
  const always = 'it is to fail';
  const run = (): Promise<void> | void =>
    how === 'sync'
      ? assertProperty(fc.property(long, fails), { ...options, always })
      : assertProperty(
          fc.asyncProperty(long, async (list) => fails(list)),
          { ...options, always },
        );
  const failure = await (async () => run())().then(
    () => null,
    (error: Error) => error.message,
  );
  return { runs, failure };
}

test.each(['sync', 'async'] as const)('shrinking a broken %s property stops at its limit', async (how) => {
  const cut = await runBroken({ shrinkFor: 0 }, how);
  expect(cut).toEqual({ runs: 1, failure: expect.stringContaining('Shrunk 0 time(s)') });
  const whole = await runBroken({}, how);
  expect(whole.runs).toBeGreaterThan(2);
  expect(whole.failure).toMatch(/seed: -?\d+, path: "[\d:]+"/);
  expect(whole.failure).toContain(`Counterexample: [[${Array(30).fill(0).join(',')}]]`);
  expect(await runBroken({ shrink: false }, how)).toMatchObject({ runs: 1 });
});

test('a failure of thousands of characters is written to a file, and the error has its path and a summary', async () => {
  const steps = fc.array(fc.constant('step of a long case'), { minLength: 1_000, maxLength: 1_000 });
  const fails = fc.property(steps, (list) => expect(list).toEqual([]));
  const run = async () => assertProperty(fails, { always: 'it is to fail', seed: 5, shrink: false });
  const failure = await run().then(
    () => '',
    (error: Error) => error.message,
  );
  expect(failure.length).toBeLessThan(2_500);
  expect(failure).toMatch(/seed: 5, path: "0"/);
  expect(failure).toContain('Counterexample: [["step of a long case","step');
  expect(failure).toContain('toEqual');
  const [, path = ''] = /whole counterexample is in (\S+)/.exec(failure) ?? [];
  const whole = readFileSync(path, 'utf8');
  rmSync(dirname(path), { recursive: true });
  expect(whole.match(/"step of a long case"/g)?.length).toBeGreaterThanOrEqual(1_000);
});

test('a property that holds tries the requested number of cases', () => {
  let runs = 0;
  assertProperty(
    fc.property(fc.nat(), () => {
      runs += 1;
    }),
    { always: 'each case is counted', cases: 7, examples: [[1]] },
  );
  expect(runs).toBe(casesOf(7) + 1);
});

test('seeds are counted up from the first, and a single seed reproduces its failure', async () => {
  const tried: number[] = [];
  let failing: number | null = null;
  const always = 'each case is kept';
  const property = fc.asyncProperty(fc.noShrink(fc.nat()), async (drawn) => {
    tried.push(drawn);
    expect(drawn).not.toBe(failing ?? Number.NaN);
  });
  await assertSeeds(property, { always, cases: 5, seed: 40 });
  const seeds = tried.splice(0);
  expect(seeds).toHaveLength(casesOf(5));
  expect(new Set(seeds).size).toBeGreaterThan(casesOf(5) / 2);
  failing = seeds.at(-1) ?? null;
  const seed = 40 + seeds.length - 1;
  const failure = await assertSeeds(property, { always, cases: 1, seed }).catch((error: Error) => error.message);
  expect(failure).toContain(`seed: ${seed},`);
  expect(tried[0]).toBe(seeds.at(-1));
});

test('a property holds without situations that it does not require', () => {
  assertProperty(
    fc.property(fc.nat(), () => {}),
    { seen: new Seen({ rare: 0 }), cases: 1 },
  );
});

test('a property fails if its cases never meet the required situation', async () => {
  const message = `Too few cases have the situations that the property needs: large: 0 of ${casesOf(1)}`;
  const small = fc.nat({ max: 5 });
  const record = (seen: Seen) => (drawn: number) => seen.add(drawn > 5 ? 'large' : 'small');
  const newSeen = () => new Seen({ small: 3, large: 1 });
  const [first, second, third] = [newSeen(), newSeen(), newSeen()];
  expect(() => assertProperty(fc.property(small, record(first)), { seen: first })).toThrow(message);
  const later = fc.asyncProperty(small, async (drawn) => record(second)(drawn));
  await expect(assertProperty(later, { seen: second })).rejects.toThrow(message);
  const seeds = fc.asyncProperty(small, async (drawn) => record(third)(drawn));
  await expect(assertSeeds(seeds, { seen: third, cases: 5 })).rejects.toThrow(message);
  const enough = new Seen({ small: 3 });
  assertProperty(
    fc.property(small, () => enough.add('small')),
    { seen: enough },
  );
  expect(() => enough.add('middling')).toThrow('undeclared situation: middling');
});

test('a property tries more cases if the first ones met too few situations', async () => {
  const late = (seen: Seen) => {
    let runs = 0;
    return () => {
      runs += 1;
      if (runs > 25) seen.add('late');
    };
  };
  const [first, second, third] = [new Seen({ late: 1 }), new Seen({ late: 1 }), new Seen({ late: 1 })];
  assertProperty(fc.property(fc.nat(), late(first)), { seen: first, cases: 10 });
  const [later, seeds] = [late(second), late(third)];
  await assertProperty(
    fc.asyncProperty(fc.nat(), async () => later()),
    { seen: second, cases: 10 },
  );
  await assertSeeds(
    fc.asyncProperty(fc.nat(), async () => seeds()),
    { seen: third, cases: 10 },
  );
});

test('a counterexample is reported before a missing situation', () => {
  const seen = new Seen({ anything: 1 });
  const fails = fc.property(fc.nat(), () => expect(1).toBe(2));
  expect(() => assertProperty(fails, { seen, shrink: false })).toThrow('Counterexample');
});

test('a reason for not counting situations is a sentence', () => {
  const files = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.test.ts'),
  );
  const texts = files.map((file) => readFileSync(join(import.meta.dir, file), 'utf8'));
  const reasons = texts.flatMap((text) => [...text.matchAll(/\balways: '([^']*)'/g)].map(([, reason = '']) => reason));
  expect(reasons.filter((reason) => reason.split(' ').length < 3)).toEqual([]);
  expect(reasons.length).toBeGreaterThan(30);
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
