/**
 * What others than the one who writes see of the hooks and the chain: what is committed. They ask through the connection
 * that writes, and so meet its transaction: one that is held is committed first. One that waits for a log can't be, and
 * is passed by on a connection of its own.
 */
import type { Database } from 'bun:sqlite';
import type { Network } from '../../chain/network.ts';
import { indexPlace, type Place } from '../files/journal-link.ts';
import { type HookStore, hookStore } from '../hooks/store.ts';
import type { ChainReader } from './chain-writer.ts';
import type { ChainHistory } from './follower.ts';

// biome-ignore lint/suspicious/noExplicitAny: of whatever parameters and results
type Functions = Readonly<Record<string, (...values: any[]) => any>>;

/** @returns the functions, each of which asks `choose` for the one that is called */
const chosen = <F extends Functions>(functions: F, choose: (name: keyof F) => F[keyof F]): F =>
  Object.fromEntries(
    Object.keys(functions).map((name) => [name, (...values: unknown[]) => choose(name)(...values)]),
  ) as F;

/** @returns the functions, each of which calls `before` first */
export const preceded = <F extends Functions>(functions: F, before: () => void): F =>
  chosen(functions, (name) => {
    before();
    return functions[name] as F[keyof F];
  });

export interface Views {
  hooks: HookStore;
  history: ChainHistory;
}

function historyOf({ tip, hashAt, branchOf, stored }: ChainReader, network: () => Network): ChainHistory {
  return { tip, hashAt, branchOf, block: (indexBlockHash) => stored(indexBlockHash, network()) };
}

interface ViewOptions {
  /** The connection that writes. */
  db: Database;
  /** The chain as that connection has it. */
  chain: ChainReader;
  /** The network of stored blocks. */
  network: () => Network;
}

function ownViews({ db, chain, network }: ViewOptions): Views {
  return { hooks: hookStore(db), history: historyOf(chain, network) };
}

/** Each of the functions of hooks and history, as `make` makes it of the own one and its name. */
function eachView(own: Views, make: <F extends Functions>(functions: F, of: (views: Views) => F) => F): Views {
  const { records, deliveries, ledger, secrets, backfills, candidates, origin } = own.hooks;
  return {
    hooks: {
      records: make(records, ({ hooks }) => hooks.records),
      deliveries: make(deliveries, ({ hooks }) => hooks.deliveries),
      ledger: make(ledger, ({ hooks }) => hooks.ledger),
      secrets: make(secrets, ({ hooks }) => hooks.secrets),
      backfills: make(backfills, ({ hooks }) => hooks.backfills),
      candidates: make(candidates, ({ hooks }) => hooks.candidates),
      origin: make(origin, ({ hooks }) => hooks.origin),
    },
    history: make({ ...own.history }, ({ history }) => ({ ...history })),
  };
}

/** @param publish commits what is held */
export const publishedViews = (options: ViewOptions, publish: () => void): Views =>
  eachView(ownViews(options), (functions) => preceded(functions, publish));

/**
 * Views for those who may find a transaction open that waits for a log.
 * @param reader another connection to the same file
 * @param readChain the chain as that connection has it
 * @param isWorking whether who asks is who writes
 */
export function separateViews(
  options: ViewOptions,
  { reader, readChain, isWorking }: { reader: Database; readChain: ChainReader; isWorking: () => boolean },
): Views & { place: () => Place } {
  const others = ownViews({ ...options, db: reader, chain: readChain });
  const views = eachView(ownViews(options), (own, of) => {
    const other = of(others);
    return chosen(own, (name) => (isWorking() ? own : other)[name] as (typeof own)[keyof typeof own]);
  });
  return { ...views, place: indexPlace(reader).current };
}
