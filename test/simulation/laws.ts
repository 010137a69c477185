/** The laws that hold at the end of a run, whatever happened in it. */
import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { statSync } from 'node:fs';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { pathsOpenToOthers } from '../../src/store/files/private-files.ts';
import { COMMAND_PATH } from '../../src/store/ingest/commands.ts';
import { expectedMatches, followed } from '../hooks/follow.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { journalRows, type Tables, tables } from '../support/data/tables.ts';
import { type BlockTree, treesOf, winningChain } from '../support/events/winning-chain.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import type { Hook, Logged, Signed } from './operator.ts';
import { type Arrived, SLOWEST } from './receivers.ts';

/** The tables of only the winning chain, by stream. */
const winning = new Map<readonly NodeEvent[], Tables>();

function winningTables(events: readonly NodeEvent[]): Tables {
  const cached = winning.get(events);
  if (cached !== undefined) return cached;
  using directory = ingestOf(winningChain(events).map(received));
  const { value_index_entries: _, ...chainTables } = tables(directory.path);
  winning.set(events, chainTables);
  return chainTables;
}

/**
 * Checks the fork law, that counts equal a recount, and that the index depends only on the journal's entries, including chainhooks and
 * deliveries: every table except the local ones equals a rebuild, row by row. The value indexes have as many entries as
 * the operator's last request needs, and are recounted.
 */
export function holdsTheWinningChain(directory: string, events: readonly NodeEvent[]): void {
  expect(checkAndRecount(directory, { deep: silentMachine }).flatMap(({ problems }) => problems)).toEqual([]);
  const { value_index_entries: _, ...chainTables } = tables(directory);
  expect(chainTables).toEqual(winningTables(events));
}

/** Exactly once: each block is in the journal one time, and events first came in the order of the node. */
export function journalIsOrdered(directory: string, events: readonly NodeEvent[]): void {
  const ofNode = journalRows(directory).filter(({ path }) => path !== COMMAND_PATH);
  const texts = ofNode.map(({ path, text }) => `${path} ${text}`);
  const blocks = texts.filter((text) => text.startsWith('/new_block '));
  expect(blocks.length).toBe(new Set(blocks).size);
  const journaled = new Set(texts);
  const posted = new Set(events.map(({ path, body }) => `${path} ${body}`));
  expect([...journaled]).toEqual([...posted].filter((text) => journaled.has(text)));
}

/** Checks that the files lack statistics, which would change query plans, and that only their owner can access them. */
export function filesAreClean(directory: string): void {
  using db = new Database(indexPath(directory), { readonly: true });
  expect(db.query("SELECT name FROM sqlite_schema WHERE name GLOB 'sqlite_stat*'").all()).toEqual([]);
  expect(pathsOpenToOthers(directory)).toEqual([]);
}

/** Checks that the WALs stay within their disk limit, because nobody holds a snapshot. */
export function logIsBounded(directory: string, limitBytes: number): void {
  for (const path of [indexPath(directory), journalPath(directory)]) {
    const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    expect({ path, bytes: Math.min(bytes, limitBytes) }).toEqual({ path, bytes });
  }
}

/** Checks that an id always names the same body, even if the process or the power failed between two attempts. */
export function idsNameBodies(arrived: readonly Arrived[]): void {
  const bodies = new Map<string, string>();
  for (const { id, text } of arrived) {
    expect({ id, text }).toEqual({ id, text: bodies.get(id) ?? text });
    bodies.set(id, text);
  }
}

/** Checks that signatures use only valid secrets, and that every delivery is signed while there is a secret, even if the key is lost. */
export function signedAsAsked(arrived: readonly Arrived[], signed: readonly Signed[]): void {
  for (const { id, time, secret, isSigned } of arrived) {
    const isDue = signed.some(({ from, to }) => time > from + SLOWEST && time < to);
    expect({ id, time, isSigned }).toEqual({ id, time, isSigned: secret !== null || isDue });
  }
}

/** Returns a hook's live deliveries that a receiver accepted, each once. Checks that they arrive in order without gaps. */
export function inOrder(arrived: readonly Arrived[]): Arrived[] {
  const seen = new Map<string, Arrived>();
  const accepted = new Map<number, Arrived>();
  for (const delivery of arrived) {
    if (delivery.sequence === null) continue;
    const isFirst = !seen.has(delivery.id);
    seen.set(delivery.id, delivery);
    if (isFirst) {
      const before = seen.size - 1;
      expect({ sequence: delivery.sequence, tookTheOneBefore: before === 0 || accepted.has(before) }).toEqual({
        sequence: before + 1,
        tookTheOneBefore: true,
      });
    }
    if (delivery.accepted && !accepted.has(delivery.sequence)) accepted.set(delivery.sequence, delivery);
  }
  return [...accepted.values()];
}

/** The hashes from a block down to the first. */
function branch(tree: BlockTree, tip: string | null): Set<string> {
  const hashes = new Set<string>();
  for (let hash = tip; hash !== null; ) {
    hashes.add(hash);
    hash = tree.blocks.get(hash)?.head.parent_index_block_hash ?? null;
  }
  return hashes;
}

// biome-ignore lint/suspicious/noExplicitAny: payloads are looked into
type Payload = any;

/** Payloads without rollbacks of blocks that none of them applied, but a backfill did. */
function withoutForeign(payloads: readonly Payload[]): Payload[] {
  const applied = new Set<string>();
  const result: Payload[] = [];
  for (const { event } of payloads) {
    const rollback = event.rollback.filter(({ block_identifier: { hash } }: Payload) => applied.delete(hash));
    for (const {
      block_identifier: { hash },
    } of event.apply)
      applied.add(hash);
    if (rollback.length + event.apply.length > 0) result.push({ event: { ...event, rollback } });
  }
  return result;
}

/** Checks that no delivery is lost or invented: a follower of a hook has all matches on the winning chain since the hook's start. */
export function deliveredTheWinningChain(hook: Hook, accepted: readonly Arrived[], events: readonly NodeEvent[]): void {
  const matches = expectedMatches(events, hook.filters);
  const payloads = accepted.map(({ text }) => JSON.parse(text));
  const standing = new Map(
    [...followed(hook.backfilled ? withoutForeign(payloads) : payloads)].map(([hash, block]): [string, string[]] => [
      hash,
      (block as Payload).transactions.map((transaction: Payload) => transaction.transaction_identifier.hash),
    ]),
  );
  for (const [hash, transactions] of standing) {
    expect({ uuid: hook.uuid, hash, transactions }).toEqual({
      uuid: hook.uuid,
      hash,
      transactions: matches.get(hash) ?? ['nothing: it is not on the chain, or nothing matches'],
    });
  }
  const before = branch(treesOf(events).blocks, hook.since);
  const owed = [...matches.keys()].filter((hash) => !before.has(hash));
  expect({ uuid: hook.uuid, missing: owed.filter((hash) => !standing.has(hash)) }).toEqual({
    uuid: hook.uuid,
    missing: [],
  });
}

/** Checks that a restored server loses nothing: it sent each matching block on the winning chain since the hook's start. */
export function deliveredAllTheSame(hook: Hook, arrived: readonly Arrived[], events: readonly NodeEvent[]): void {
  const applied = new Set(
    arrived.flatMap(({ accepted, text }): string[] =>
      accepted ? JSON.parse(text).event.apply.map(({ block_identifier: { hash } }: Payload) => hash) : [],
    ),
  );
  const before = branch(treesOf(events).blocks, hook.since);
  const owed = [...expectedMatches(events, hook.filters).keys()].filter((hash) => !before.has(hash));
  expect({ uuid: hook.uuid, missing: owed.filter((hash) => !applied.has(hash)) }).toEqual({
    uuid: hook.uuid,
    missing: [],
  });
}

/** Checks deliveries of a backfill among live ones: applied in order of arrival, they leave only blocks of the winning chain. */
export function leavesNoOrphans(hook: Hook, arrived: readonly Arrived[], events: readonly NodeEvent[]): void {
  const seen = new Set<string>();
  const standing = new Set<string>();
  for (const { id, sequence, reason, text, accepted } of arrived) {
    if (!accepted || seen.has(id) || (sequence === null && reason !== 'backfill')) continue;
    seen.add(id);
    const { event }: Payload = JSON.parse(text);
    for (const { block_identifier } of event.rollback) standing.delete(block_identifier.hash);
    for (const { block_identifier } of event.apply) standing.add(block_identifier.hash);
  }
  const chain = winningHashes(events);
  expect({ uuid: hook.uuid, orphans: [...standing].filter((hash) => !chain.has(hash)) }).toEqual({
    uuid: hook.uuid,
    orphans: [],
  });
}

const winningHashes = (events: readonly NodeEvent[]): Set<string> =>
  new Set(
    winningChain(events)
      .filter(({ path }) => path === '/new_block')
      .map(({ body }) => JSON.parse(body).index_block_hash),
  );

/**
 * Checks that the delivery log of an idle hook agrees with the deliveries that its receivers accepted.
 * @param logged oldest first @param mayForget whether the oldest may have expired
 */
export function logAgrees(
  hook: Hook,
  logged: readonly Logged[],
  accepted: readonly Arrived[],
  { mayForget }: { mayForget: boolean },
): void {
  const ids = new Set(accepted.map(({ id }) => id));
  const live = logged.filter(({ id }) => ids.has(id));
  const remaining = mayForget ? accepted.slice(accepted.length - live.length) : accepted;
  expect(live.map(({ id }) => id)).toEqual(remaining.map(({ id }) => id));
  const states = hook.redelivered ? ['delivered', 'dead'] : ['delivered'];
  expect(live.filter(({ state }) => !states.includes(state))).toEqual([]);
}
