/** The Redis servers that tests start. */
import { expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { hasRedis, startRedis } from './redis.ts';
import { describeWith } from './system-servers.ts';

describeWith('Redis', hasRedis, () => {
  test('data outlives the server', async () => {
    await using server = await startRedis();
    const client = new RedisClient(server.url);
    await client.set('kept', 'yes');
    client.close();
    await server.kill();
    await server.restart();
    const second = new RedisClient(server.url);
    expect(await second.get('kept')).toBe('yes');
    second.close();
  });
});
