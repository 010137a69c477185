/** The servers that tests start. */
import { expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { hasPostgres, startQuorum } from './support/postgres.ts';
import { hasRedis, startRedis } from './support/redis.ts';
import { describeWith } from './support/system-servers.ts';

describeWith('PostgreSQL', hasPostgres, () => {
  test('what is committed outlives the primary, and the next one waits for a standby, too', async () => {
    await using quorum = await startQuorum();
    await quorum.primary().run('CREATE TABLE kept (id int)');
    await quorum.primary().run('INSERT INTO kept VALUES (1)');
    await quorum.failOver();
    await quorum.primary().run('INSERT INTO kept VALUES (2)');
    await quorum.replace();
    await quorum.failOver();
    expect(await quorum.primary().run('SELECT id FROM kept ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
  });
});

describeWith('Redis', hasRedis, () => {
  test('what was written outlives the server', async () => {
    await using server = await startRedis();
    const client = new RedisClient(server.url);
    await client.set('kept', 'yes');
    client.close();
    await server.kill();
    await server.restart();
    const again = new RedisClient(server.url);
    expect(await again.get('kept')).toBe('yes');
    again.close();
  });
});
