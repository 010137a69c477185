/** Whole servers over a real PostgreSQL, which is killed under load. */
import { expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readHosts } from '../../src/store/log/cluster-hosts.ts';
import { makeTables } from '../../src/store/log/engine-tables.ts';
import { engineAccess, openPostgresLog } from '../../src/store/log/postgres-log.ts';
import { hasPostgres, startPostgres } from '../support/postgres.ts';
import { type Serving, serving } from '../support/serving.ts';
import { describeWith } from '../support/system-servers.ts';
import { journalRows, wholeIndex } from '../support/tables.ts';
import { until } from '../support/until.ts';

const events = [...devnetEvents({ seed: 9, blocks: 8, accounts: 4, transactionsPerBlock: 1, forkEvery: 3 })];

/** Where the chainhooks of each host stand, which are its own. */
const OWN = ['evaluated', 'cursor_height', 'cursor_hash', 'evaluated_at'].map((column) => `hook_progress.${column}`);

/** Posts every event until it is taken. @param taken called after each */
async function feed(server: Serving, taken: (index: number) => Promise<void>): Promise<void> {
  for (const [index, { path, body }] of events.entries()) {
    await until(async () => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${server.events}${path}`, { method: 'POST', body, headers });
      return response.status === 200;
    }, `an answer to event ${index}`);
    await taken(index);
  }
}

describeWith('PostgreSQL', hasPostgres, () => {
  test('hosts whose nodes post the same events at once come to the same state, though the engine is killed', async () => {
    await using engine = await startPostgres();
    const prefix = 'one_chain_';
    const access = engineAccess(engine.url, { prefix, connections: 1 });
    await makeTables(access.engine, access.tables);
    const given = { cluster: engine.url, clusterPrefix: prefix };
    await using one = await serving({ ...given, hostName: 'one' });
    await using two = await serving({ ...given, hostName: 'two' });
    const killed = async (index: number) => {
      if (index !== Math.floor(events.length / 2)) return;
      await engine.kill();
      await engine.restart();
    };
    await Promise.all([feed(one, killed), feed(two, async () => {})]);
    const tipOf = async (server: Serving) => ((await (await server.get('/ready')).json()) as { height: number }).height;
    await until(async () => (await tipOf(two)) === 8);
    await until(async () => (await readHosts(access)).length === 2, 'the hosts that tell of themselves');
    await access.engine.close();
    const rows = journalRows(one.directory);
    expect(rows.length).toBeGreaterThan(events.length / 2);
    await until(() => journalRows(two.directory).length === rows.length);
    expect(journalRows(two.directory)).toEqual(rows);
    expect(wholeIndex(two.directory, OWN)).toEqual(wholeIndex(one.directory, OWN));

    // A newer program changed the tables while the engine could not be asked for their format.
    await engine.kill();
    const log = await openPostgresLog(engine.url, { prefix });
    await engine.restart();
    await engine.run(`UPDATE ${prefix}stackside_meta SET format = 9`);
    await expect(log.head()).rejects.toThrow('The shared log has format 9');
    await log.close();
  });
});
