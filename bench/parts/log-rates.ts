/** Measures how fast events become entries of a shared log: from one node, from several nodes of a host, and by an import. */
import { fillLog } from '../../src/cluster/comparing.ts';
import { engineAccess, makeTables } from '../../src/cluster/engine-tables.ts';
import { openPostgresLog } from '../../src/cluster/postgres-log.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { openHost } from '../../test/cluster/open-host.ts';
import { openAt } from '../../test/support/data/ingest.ts';
import { withDirectory } from '../harness.ts';

let prefixes = 0;

async function newLog(url: string) {
  prefixes += 1;
  const prefix = `posted${prefixes}_`;
  const access = engineAccess(url, prefix);
  await makeTables(access);
  await access.engine.close();
  return openPostgresLog(url, { prefix });
}

const receivedAt = ({ path, body, time }: NodeEvent): ReceivedEvent => ({ path, text: body, receivedAt: time * 1_000 });

/** Events that don't change the index, so that the log takes most of their time. */
const chunksOf = (node: number, count: number): ReceivedEvent[] =>
  Array.from({ length: count }, (_, index) => ({
    path: '/stackerdb_chunks',
    text: JSON.stringify({ node, at: index, of: 'x'.repeat(500) }),
    receivedAt: index,
  }));

/** Returns the entries per second if several nodes post to one host, each one event after the other. */
export async function postedRate(url: string, nodes: number, count: number): Promise<number> {
  await using host = openHost(await newLog(url));
  await host.follow(0);
  const shares = Array.from({ length: nodes }, (_, node) => chunksOf(node, Math.ceil(count / nodes)));
  const start = performance.now();
  await Promise.all(
    shares.map(async (share) => {
      for (const event of share) await host.host.receive(event);
    }),
  );
  return ((nodes * Math.ceil(count / nodes)) / (performance.now() - start)) * 1_000;
}

export interface Filling {
  /** Seconds that a node needs to post a chain to a host. */
  posted: number;
  /** Seconds to import the chain into a data directory and fill a log with its journal. */
  imported: number;
  filled: number;
}

/** Fills a log with the events of a chain: from a node, and by an import. */
export async function fillings(url: string, blocks: number): Promise<Filling> {
  const events = [...devnetEvents({ seed: 5, blocks })].map(receivedAt);
  const seconds = (from: number): number => (performance.now() - from) / 1_000;
  const start = performance.now();
  {
    await using host = openHost(await newLog(url));
    await host.follow(0);
    for (const event of events) await host.host.receive(event);
  }
  const posted = seconds(start);
  return withDirectory(async (directory) => {
    const importStart = performance.now();
    const { ingest } = openAt(directory);
    for (const event of events) ingest.apply(event);
    ingest.commit();
    const imported = seconds(importStart);
    const log = await newLog(url);
    const filling = performance.now();
    await fillLog(log, ingest.entries, () => {});
    const filled = seconds(filling);
    await log.close();
    ingest.close();
    return { posted, imported, filled };
  });
}
