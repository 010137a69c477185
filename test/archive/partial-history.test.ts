/** Archives of a partial history: the journal starts the history at a block, and may start it again. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { OperatorError } from '../../src/base/errors.ts';
import { TESTNET_CHAIN_ID } from '../../src/chain/network.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory, ingestOf, openAt, received } from '../support/data/ingest.ts';
import { everything, tables } from '../support/data/tables.ts';
import { eventsOf, forks } from '../support/events/forked-chain.ts';
import { fromAnywhere } from '../support/events/from-anywhere.ts';
import { failureOf } from '../support/failure.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';

/** Returns the blocks of an index, and the start of its history. */
const stateOf = (directory: string) => {
  using open = openAt(directory);
  return { bottom: open.ingest.history.bottom(), tip: open.ingest.history.tip(), tables: tables(directory) };
};

test('an archive of a partial history is restored with or without its base, and the restored history can start again', async () => {
  const seen = new Seen({ partial: 2, again: 1 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.nat(), fc.nat(), async (generated, choice, cut) => {
      using folder = dataDirectory();
      using source = emptyDirectory();
      const { stream, give } = fromAnywhere(eventsOf(generated), choice);
      const before = 1 + (cut % stream.length);
      {
        using open = openAt(source.path, { chainId: TESTNET_CHAIN_ID });
        for (const event of stream.slice(0, before)) give(open.ingest, event);
      }
      const archive = join(folder.path, 'archive');
      const isEmpty = stateOf(source.path).tables.blocks?.length === 0;
      const backup = backupOf(source.path, archive);
      if (isEmpty) return expect(backup).rejects.toThrow("doesn't contain a block yet");
      await backup;
      const [ofBase, ofEntries] = [join(folder.path, 'base'), join(folder.path, 'entries')];
      await restored(archive, ofBase);
      await restored(archive, ofEntries, { base: 'none' });
      const initial = stateOf(source.path);
      for (const directory of [ofBase, ofEntries]) expect(stateOf(directory)).toEqual(initial);
      for (const directory of [source.path, ofBase, ofEntries]) {
        using open = openAt(directory);
        for (const event of stream.slice(before)) give(open.ingest, event);
      }
      const ended = stateOf(source.path);
      for (const directory of [ofBase, ofEntries]) expect(stateOf(directory)).toEqual(ended);
      if (initial.bottom > 0) seen.add('partial');
      if (initial.bottom > 0 && ended.bottom !== initial.bottom) seen.add('again');
    }),
    // With this seed, one round of cases meets every situation.
    { seen, cases: 3, shrink: false, seed: firstSeed + 2 },
  );
});

test('rejects a restore into a directory with a partial history, with a problem and a remedy', async () => {
  using folder = dataDirectory();
  const events = eventsOf({
    seed: 3,
    steps: Array.from({ length: 6 }, () => ({ mine: 'back', tenure: 'new', transactions: 2, blocks: 0 }) as const),
  });
  const isHigh = (body: string): boolean => JSON.parse(body).block_height >= 4;
  const partial = events.filter(({ path, body }) => path !== '/new_block' || isHigh(body));
  using whole = ingestOf(events.map(received));
  using directory = ingestOf(partial.map(received));
  const archive = join(folder.path, 'archive');
  await backupOf(whole.path, archive);
  const before = everything(directory.path);
  const refused = await failureOf(OperatorError, restored(archive, directory.path));
  expect(refused.message).toContain(`${directory.path} holds data already: `);
  expect(refused.remedy).toBe('Give a new directory with --data.');
  expect(everything(directory.path)).toEqual(before);
});
