/** Concurrent changes of a hook, whose DNS lookups end in any order: no change is lost. */
import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseDefinition } from '../../src/hooks/definition/definition.ts';
import type { TargetGuard } from '../../src/http/outgoing.ts';
import { CONSUMER, directHooks } from '../hooks/direct.ts';
import { definition } from '../hooks/server.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** Returns the check of a target, delayed until the test lets it end. */
let turn: <T>(checked: Promise<T>) => Promise<T> = (checked) => checked;
const guard: TargetGuard = { check: (url) => turn(Promise.resolve({ url: new URL(url), addresses: [] })) };
const hooks = directHooks({ guard });
afterAll(() => hooks[Symbol.asyncDispose]());

const urlOf = (value: number): string => `https://example.org/${value}`;

/** Fields that can be changed, each with a different value per change. */
const parts = {
  name: (value: number) => `name ${value}`,
  filters: (value: number) => ({
    events: [{ type: 'contract_log', contract_identifier: `ST000000000000000000002AMW42H.c${value}` }],
  }),
  options: (value: number) => ({ expire_after_evaluations: 1_000 + value }),
  action: (value: number) => ({ type: 'http_post', url: urlOf(value) }),
};
type Part = keyof typeof parts;
const names = Object.keys(parts) as Part[];

/** A change sets some parts; the value of each is the number of the change. */
const changes = fc.array(fc.subarray(names, { minLength: 1 }), { minLength: 2, maxLength: 5 });

test('each of several concurrent changes is stored, unless another one set the same part', async () => {
  const seen = new Seen({ rivals: 10 });
  await assertProperty(
    fc.asyncProperty(changes, fc.scheduler(), async (updates, scheduler) => {
      turn = (checked) => checked;
      const uuid = await hooks.register(definition(urlOf(0), [{ type: 'coinbase' }]));
      turn = (checked) => scheduler.schedule(checked);
      const changesDone = updates.map((set, index) =>
        hooks.managed.update(CONSUMER, uuid, Object.fromEntries(set.map((part) => [part, parts[part](index + 1)]))),
      );
      await scheduler.waitFor(Promise.all(changesDone));
      const stored = parseDefinition(hooks.record(uuid));
      for (const part of names) {
        const setters = updates.flatMap((set, index) => (set.includes(part) ? [parts[part](index + 1)] : []));
        if (setters.length > 1) seen.add('rivals');
        if (setters.length > 0) expect(setters).toContainEqual(stored[part] as never);
      }
    }),
    { seen, cases: 40 },
  );
});
