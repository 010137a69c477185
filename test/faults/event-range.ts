/** A range of a node's events over an index with hooks, which tests accept again and again under faults. */
import { systemClock } from '../../src/base/clock.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { parseDefinition, readDefinition } from '../../src/hooks/definition/definition.ts';
import { type HookCommands, type HookMachine, hookMachine } from '../../src/hooks/machine.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import type { IngestOptions, ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import type { MachineParts } from '../../src/store/ingest/state-machine.ts';
import { definition } from '../hooks/server.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { openAt, received, simulatedEvents } from '../support/data/ingest.ts';
import { jsonOf } from '../support/events/payload-text.ts';

const BEFORE = 60;
/** Time for the hooks, in Unix milliseconds; no test depends on it. */
const NOW = 1_800_000_000_000;

const chain = { seed: 3, accounts: 8, transactionsPerBlock: 3, forkEvery: 4, forkDepth: 3 };
const stream: ReceivedEvent[] = simulatedEvents({ ...chain, blocks: 26 });
/** Returns an event that only the journal stores. */
const chunks = (label: number): ReceivedEvent => ({
  path: '/stackerdb_chunks',
  text: jsonOf({ contract_id: `ST.chunks-${label}`, modified_slots: [] }),
  receivedAt: NOW,
});

export const eventsBefore = stream.slice(0, BEFORE);
/** An event of the range by its number, now and then behind one that only the journal holds. */
const withChunks = (event: ReceivedEvent, index: number): ReceivedEvent[] =>
  index % 7 === 3 ? [chunks(index), event] : [event];
/** Blocks, forks, transactions that wait and are dropped, and events that only the journal holds. */
export const eventRange = stream.slice(BEFORE).flatMap(withChunks);

/** The range, followed by an endless stream of further events. */
export function* endlessEvents(): Generator<ReceivedEvent> {
  let index = -BEFORE;
  for (const event of devnetEvents({ ...chain, blocks: Number.POSITIVE_INFINITY })) {
    if (index >= 0) yield* withChunks(received(event), index);
    index += 1;
  }
}

const filters = [
  [{ type: 'stx_event' }, { type: 'coinbase' }],
  [{ type: 'contract_call' }, { type: 'contract_deploy' }],
  [{ type: 'tenure_change' }, { type: 'nft_event' }, { type: 'ft_event' }],
];

export const isBlock = ({ path }: ReceivedEvent): boolean => path === '/new_block';

/** Opens a directory with hooks that follow its chain; nothing is sent. */
export function openWithHooks(directory: string, options: Partial<IngestOptions> = {}) {
  let hooks: HookMachine | null = null;
  const machine = (parts: MachineParts): HookMachine => {
    hooks = hookMachine(parts, () => {});
    return hooks;
  };
  const open = openAt(directory, { ...options, machine });
  const { ingest } = open;
  /** Parts that were notified since the set was cleared. */
  const woken = new Set<string>();
  (hooks as HookMachine | null)?.engine.listen({
    evaluated: () => {},
    queued: (hookId, queue) => woken.add(`${hookId}/${queue}`),
    tasksReady: () => {},
    hookStopped: () => {},
    recovered: () => woken.add('all'),
  });
  const { run } = commandsOf<HookCommands>(ingest.commander({ ...systemClock, now: () => NOW }));
  // If nobody else writes, a command is applied when it is sent.
  const register = () => {
    for (const [index, events] of filters.entries()) {
      const body = { ...definition('http://127.0.0.1:9/', events, { enable_on_registration: true }), name: `${index}` };
      const parsed = readDefinition(body, ingest.network());
      void run('hook.register', { uuid: crypto.randomUUID(), consumer: 'me', definition: parsed });
    }
  };
  /** From now on, each hook expires after this many further matches. */
  const limitOccurrences = (count: number) => {
    for (const record of ingest.hooks.records.all('me')) {
      const { options: current } = parseDefinition(record);
      const limited = { ...current, expire_after_occurrences: record.occurrences + count };
      void run('hook.redefine', { consumer: 'me', uuid: record.uuid, change: { options: limited } });
    }
  };
  return { ...open, register, limitOccurrences, woken };
}

/** Creates a closed directory with the events of `before`, and with hooks at the tip. */
export function template(): DataDirectory {
  const directory = dataDirectory();
  using open = openWithHooks(directory.path);
  for (const event of eventsBefore) open.ingest.apply(event);
  open.ingest.commit();
  open.register();
  return directory;
}
