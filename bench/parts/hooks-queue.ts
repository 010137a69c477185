/** Queues unsent deliveries of a few hooks. Arguments: directory, deliveries, hooks, bytes of a body, URL. */
import { openWriter } from '../../src/store/files/database.ts';
import { hookStore } from '../../src/store/hooks/store.ts';

const [directory = '', deliveries = '0', hooks = '1', bytes = '0', url = ''] = process.argv.slice(2);
const db = openWriter(directory);
const { records, deliveries: outbox } = hookStore(db);
const definition = {
  name: 'queued',
  version: '1',
  chain: 'stacks',
  network: 'testnet',
  filters: { events: [] },
  action: { type: 'http_post', url },
};
const ids = db.transaction(() =>
  Array.from({ length: Number(hooks) }, () => {
    const uuid = crypto.randomUUID();
    const id = records.add({
      uuid,
      consumer: 'default',
      createdAt: Date.now(),
      definition: JSON.stringify(definition),
      url,
    });
    records.goLive(id, null);
    return id;
  }),
)();
/** Random bytes as hex, which a compressor halves. */
const body = (): string => JSON.stringify({ hex: crypto.getRandomValues(new Uint8Array(Number(bytes) / 2)).toHex() });
/** Random, like the digest of a real delivery. */
const webhookIdOf = (): string => `evt_${crypto.getRandomValues(new Uint8Array(16)).toHex()}`;
const BATCH = 1_000;
for (let start = 0; start < Number(deliveries); start += BATCH) {
  db.transaction(() => {
    for (let index = start; index < Math.min(start + BATCH, Number(deliveries)); index++) {
      const hookId = ids[index % ids.length]!;
      const sequence = records.nextSequence(hookId);
      const common = { queue: 'live', reason: 'live', problem: null, backfillId: null } as const;
      const blocks = { apply: [], rollback: [] };
      outbox.add({ ...common, webhookId: webhookIdOf(), hookId, sequence, blocks, body: body() }, Date.now());
    }
  })();
}
db.close();
