import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { LayeredMap } from '../../src/devnet/layered-map.ts';
import { World } from '../../src/devnet/world.ts';
import { assertProperty, Seen } from '../support/property.ts';

test('a layered map answers like a copied map, over any number of forks', () => {
  const change = fc.record({ fork: fc.boolean(), key: fc.constantFrom('a', 'b', 'c', 'd'), value: fc.nat() });
  const seen = new Seen({ forks: 50 });
  assertProperty(
    fc.property(fc.array(change, { maxLength: 80 }), (changes) => {
      let layered = new LayeredMap<number>();
      const plain = new Map<string, number>();
      for (const { fork, key, value } of changes) {
        if (fork) {
          seen.add('forks');
          layered = layered.fork();
        }
        layered.set(key, value);
        plain.set(key, value);
      }
      expect(layered.entries()).toEqual(plain);
      for (const key of ['a', 'b', 'c', 'd']) expect(layered.get(key)).toBe(plain.get(key)!);
    }),
    { seen },
  );
});

test('forks of a world do not see each other', () => {
  const world = new World();
  world.credit('alice', 10n);
  const [left, right] = [world.fork(), world.fork()];
  left.apply({ type: 'stx_transfer_event', sender: 'alice', recipient: 'bob', amount: 4n });
  right.useNonce('alice');
  expect([world, left, right].map((each) => each.balance('alice'))).toEqual([10n, 6n, 10n]);
  expect([world, left, right].map((each) => each.nonce('alice'))).toEqual([0, 0, 1]);
});

test('a world refuses to overdraw', () => {
  const world = new World();
  world.credit('alice', 1n);
  expect(() => world.debit('alice', 2n)).toThrow('overdraws');
  const burn = { type: 'ft_burn_event', asset: 'x.y::z', sender: 'alice', amount: 1n } as const;
  expect(() => world.apply(burn)).toThrow('overdraws');
});

test('locked STX are not spendable until the unlock height', () => {
  const world = new World();
  world.credit('alice', 10n);
  world.apply({ type: 'stx_lock_event', address: 'alice', amount: 7n, unlockHeight: 300, contract: 'b.pox-4' });
  expect(world.spendable('alice', 299)).toBe(3n);
  expect(world.spendable('alice', 300)).toBe(10n);
});

test('locks of pox-4 end one Bitcoin block after pox-5 is active', () => {
  const world = new World(undefined, 240);
  world.credit('alice', 10n);
  world.apply({ type: 'stx_lock_event', address: 'alice', amount: 7n, unlockHeight: 300, contract: 'b.pox-4' });
  world.apply({ type: 'stx_lock_event', address: 'bob', amount: 7n, unlockHeight: 300, contract: 'b.pox-5' });
  const lockedAt = (burnHeight: number) => ['alice', 'bob'].map((name) => world.locked(name, burnHeight)?.amount);
  expect(lockedAt(240)).toEqual([7n, 7n]);
  expect(lockedAt(241)).toEqual([undefined, 7n]);
});

test("a burnt token loses its owner, and its number isn't used again", () => {
  const world = new World();
  const value = Uint8Array.of(1);
  world.apply({ type: 'nft_mint_event', asset: 'x', recipient: 'alice', value });
  expect(world.ownerOf('x', value)).toBe('alice');
  world.apply({ type: 'nft_burn_event', asset: 'x', sender: 'alice', value });
  expect(world.ownerOf('x', value)).toBeUndefined();
  expect(world.mintedOf('x')).toBe(1);
});
