import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChainEvent, ChainTransaction } from '../../src/chain/block.ts';
import type { Effect, EffectOf, Involvement } from '../../src/chain/effect.ts';
import { effectsOf, reverseEffects } from '../../src/chain/effects.ts';
import { involvementsOf } from '../../src/chain/involvements.ts';
import { transactionContent } from '../../src/chain/normalise.ts';
import { heightOf, positionOf, positionsOf } from '../../src/chain/position.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { blocks } from '../support/events/arbitrary-block.ts';
import { alice, bob, carol, sponsor, transfer } from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';

const transaction = (changes: Partial<ChainTransaction> = {}): ChainTransaction => {
  const read = transactionContent(fromHex(transfer(alice, 0, 300).raw));
  if (!read.ok) throw read.error;
  return {
    ...read.value,
    txIndex: 0,
    status: 'success',
    result: Uint8Array.of(7, 3),
    cost: { runtime: 0, readCount: 0, readLength: 0, writeCount: 0, writeLength: 0 },
    vmError: null,
    contractInterface: null,
    microblock: null,
    events: [],
    genesis: null,
    ...changes,
  };
};

const stx = (action: 'transfer' | 'mint' | 'burn', sender: string | null, recipient: string | null): ChainEvent => ({
  kind: 'stx',
  action,
  sender,
  recipient,
  amount: '1000',
  memo: null,
});

const noRole = { stx: false, ft: false, nft: false, stxMoved: false, sponsorOnly: false };
const noInvolvement: Involvement = { ...noRole, events: 0, stxInbound: 0, stxOutbound: 0, sent: 0n, received: 0n };
/** For a principal that pays the fee or is in an STX event. */
const moved: Involvement = { ...noInvolvement, stx: true, stxMoved: true };
const involvementOf = (changes: Partial<ChainTransaction>) =>
  Object.fromEntries([...involvementsOf(transaction(changes))].flatMap((portion) => [...portion]));

test("the sender pays the fee, and the recipient of a transfer receives its event's amount", () => {
  expect(involvementOf({ events: [stx('transfer', alice.address, carol.address)] })).toEqual({
    [alice.address]: { ...moved, events: 1, stxOutbound: 1, sent: 1300n },
    [carol.address]: { ...moved, events: 1, stxInbound: 1, received: 1000n },
  });
});

test('the recipient of a failed transfer is involved but receives nothing', () => {
  expect(involvementOf({ status: 'abort_by_response' })[carol.address]).toEqual({ ...noInvolvement, stx: true });
});

test('a sponsor pays the fee, and the sender is involved without STX', () => {
  expect(involvementOf({ sponsor: { address: sponsor.address, nonce: 0n } })).toEqual({
    [alice.address]: noInvolvement,
    [sponsor.address]: { ...moved, sponsorOnly: true, sent: 300n },
    [carol.address]: { ...noInvolvement, stx: true },
  });
});

test('a sponsor with another role is not only a sponsor', () => {
  const paid = { sponsor: { address: sponsor.address, nonce: 0n } };
  const inEvent = involvementOf({ ...paid, events: [stx('mint', null, sponsor.address)] })[sponsor.address];
  expect(inEvent).toEqual({ ...moved, events: 1, stxInbound: 1, sent: 300n, received: 1000n });
  const recipient = involvementOf({ sponsor: { address: carol.address, nonce: 0n } })[carol.address];
  expect(recipient).toEqual({ ...moved, sent: 300n });
});

test('a transfer to oneself counts as sent and received, and costs only the fee', () => {
  const self = involvementOf({ events: [stx('transfer', alice.address, alice.address)] })[alice.address];
  expect(self).toEqual({ ...moved, events: 1, stxInbound: 1, stxOutbound: 1, sent: 1300n, received: 1000n });
});

test('a mint to a contract involves the contract', () => {
  const contract = `${bob.address}.treasury`;
  const minted = { ...moved, events: 1, stxInbound: 1, received: 1000n };
  expect(involvementOf({ events: [stx('mint', null, contract)] })[contract]).toEqual(minted);
});

test('called contracts, deployed contracts and parties of token events are involved', () => {
  const contractId = `${bob.address}.token`;
  const functionArgs = new Uint8Array(4);
  const call = { type: 'contract_call', typeId: 2, contractId, functionName: 'f', functionArgs } as const;
  const asset = `${contractId}::coin`;
  const events: ChainEvent[] = [
    { kind: 'ft', action: 'transfer', asset, sender: alice.address, recipient: bob.address, amount: '1' },
    { kind: 'nft', action: 'mint', asset, sender: null, recipient: bob.address, value: Uint8Array.of(3) },
  ];
  const involvement = involvementOf({ payload: call, events });
  expect(involvement[contractId]).toEqual(noInvolvement);
  expect(involvement[alice.address]).toEqual({ ...moved, ft: true, events: 1, sent: 300n });
  expect(involvement[bob.address]).toEqual({ ...noInvolvement, ft: true, nft: true, events: 2 });
  const deploy = { type: 'smart_contract', typeId: 1, contractName: 'c', clarityVersion: null, source: '' } as const;
  expect(Object.keys(involvementOf({ payload: deploy }))).toEqual([alice.address, `${alice.address}.c`]);
});

test('principals named only in a lock, print or coinbase are not involved', () => {
  const events: ChainEvent[] = [
    { kind: 'stx_lock', address: bob.address, amount: '5', unlockHeight: 9, contractName: 'pox-4' },
    { kind: 'contract_log', contractId: `${bob.address}.quiet`, topic: 'print', value: Uint8Array.of(3) },
  ];
  const [data, vrfProof] = [new Uint8Array(32), new Uint8Array(80)];
  const payload = { type: 'coinbase', typeId: 8, data, altRecipient: bob.address, vrfProof } as const;
  expect(Object.keys(involvementOf({ payload, events }))).toEqual([alice.address]);
});

test('undoing twice restores the effects', () => {
  const seen = new Seen({ effects: 100 });
  assertProperty(
    fc.property(blocks(), ([block]) => {
      if (block === undefined) return;
      const effects = [...effectsOf(block)];
      seen.add('effects', effects.length);
      expect(reverseEffects(reverseEffects(effects))).toEqual(effects);
      expect(reverseEffects(effects).at(-1)).toEqual({ kind: 'block', sign: -1, block });
    }),
    { seen },
  );
});

test('the balance changes of a block add up to the minted supply, less fees taken, plus fees paid out', () => {
  const seen = new Seen({ 'blocks that move STX': 20 });
  assertProperty(
    fc.property(blocks(), ([block]) => {
      if (block === undefined) return;
      // Mints come from nobody, burns go to nobody, transfers go from one to another: as nodes send them.
      const transactions = block.transactions.map((transaction) => ({
        ...transaction,
        events: Array.from(transaction.events, (event): ChainEvent => {
          if (event.kind !== 'stx') return event;
          const from = event.action === 'mint' ? null : (event.sender ?? alice.address);
          return {
            ...event,
            sender: from,
            recipient: event.action === 'burn' ? null : (event.recipient ?? bob.address),
          };
        }),
      }));
      const effects = [...effectsOf({ ...block, transactions })];
      const kind = <K extends Effect['kind']>(name: K) =>
        effects.filter((effect): effect is EffectOf<K> => effect.kind === name);
      const moved = kind('account').reduce((sum, { balance }) => sum + balance, 0n);
      const supply = kind('sums').reduce((sum, sums) => sum + sums.supply, 0n);
      const fees = transactions.reduce((sum, { fee }) => sum + fee, 0n);
      const paid = block.minerRewards.reduce(
        (sum, reward) => sum + reward.feesAnchored + reward.feesStreamedConfirmed + reward.feesStreamedProduced,
        0n,
      );
      if (moved !== 0n) seen.add('blocks that move STX');
      expect(moved).toBe(supply - fees + paid);
    }),
    { seen },
  );
});

test('a position depends on height and index, and grows with both', () => {
  const { first, last } = positionsOf(7);
  expect([heightOf(first), heightOf(last), heightOf(last + 1)]).toEqual([7, 7, 8]);
  expect(positionOf(7, 3)).toBe(first + 3);
  expect(positionOf(8, 0)).toBe(last + 1);
});
