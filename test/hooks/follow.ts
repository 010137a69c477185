/** A receiver that applies payloads: the matching transactions of the chain, rolled back and applied again. */
import { expect } from 'bun:test';
import { networkOf } from '../../src/chain/network.ts';
import { blockOf } from '../../src/chain/normalise.ts';
import { readPayload } from '../../src/chain/payload-reader.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import type { Filter } from '../../src/hooks/definition/filter-schemas.ts';
import { Matcher, ownTransactions, toConditions } from '../../src/hooks/matching/matching.ts';
import { winningChain } from '../support/events/winning-chain.ts';

// biome-ignore lint/suspicious/noExplicitAny: payloads are looked into
type Payload = any;

/** A block of a payload, without the fields about being canonical. */
export const withoutCanonical = (block: unknown): unknown =>
  JSON.parse(JSON.stringify(block), (key, value) => (key === 'canonical' ? undefined : value));

/**
 * Applies the payloads in order of arrival. Checks that only applied blocks are rolled back, with the same transactions, that no
 * canonical block is applied twice, and that parents come before their children.
 */
export function followed(payloads: readonly Payload[]): Map<string, unknown> {
  const standing = new Map<string, unknown>();
  for (const { event } of payloads) {
    expect(event.apply.length + event.rollback.length).toBeGreaterThan(0);
    const heights = (blocks: Payload[]): number[] => blocks.map((block) => block.block_identifier.index);
    expect(heights(event.rollback)).toEqual(heights(event.rollback).toSorted((a, b) => b - a));
    expect(heights(event.apply)).toEqual(heights(event.apply).toSorted((a, b) => a - b));
    for (const block of event.rollback) {
      const { hash } = block.block_identifier;
      expect({ hash, block: withoutCanonical(block) }).toEqual({ hash, block: standing.get(hash) });
      for (const { metadata } of block.transactions) expect(metadata.canonical).toBe(false);
      standing.delete(hash);
    }
    for (const block of event.apply) {
      const { hash } = block.block_identifier;
      expect({ hash, standing: standing.has(hash) }).toEqual({ hash, standing: false });
      for (const { metadata } of block.transactions) expect(metadata.canonical).toBe(true);
      standing.set(hash, withoutCanonical(block));
    }
  }
  return standing;
}

/** Returns the expected matches of a hook on a test network: the matching transactions of each block on the winning chain. */
export function expectedMatches(events: readonly NodeEvent[], filters: readonly Filter[]): Map<string, string[]> {
  const matcher = new Matcher();
  matcher.set(1, filters.flatMap(toConditions));
  const followed = new Map<string, string[]>();
  for (const { path, body } of winningChain(events)) {
    const payload = path === '/new_block' ? readPayload(path, body) : null;
    if (payload?.kind !== 'block') continue;
    const block = blockOf(payload.block, networkOf(0x8000_0000));
    const places = block.height > 0 ? matcher.match(block).get(1) : undefined;
    if (places === undefined) continue;
    const transactions = ownTransactions(block);
    followed.set(
      `0x${block.indexBlockHash.toHex()}`,
      places.map((place) => `0x${transactions[place]?.txId.toHex()}`),
    );
  }
  return followed;
}
