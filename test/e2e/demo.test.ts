import { expect, test } from 'bun:test';
import { startServer } from './stackside.ts';

test('stackside demo serves a chain that grows', async () => {
  const server = await startServer('demo', '--interval', '1');
  const height = async (): Promise<number> => {
    const body = (await (await fetch(`${server.api}/extended`)).json()) as { chain_tip?: { block_height: number } };
    return body.chain_tip?.block_height ?? 0;
  };
  const deadline = Date.now() + 15_000;
  while ((await height()) < 3 && Date.now() < deadline) await Bun.sleep(50);
  const reached = await height();
  while ((await height()) <= reached && Date.now() < deadline) await Bun.sleep(50);
  expect(await height()).toBeGreaterThan(reached);
  expect(await server.stop()).toBe(0);
}, 20_000);
