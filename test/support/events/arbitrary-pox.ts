/** Prints of the stacking contracts, and sets of signers, that meet in a few stackers, bonds and cycles. */
import fc from 'fast-check';
import type { ChainEvent, RewardSet } from '../../../src/chain/block.ts';
import { poxTuple } from '../../../src/codec/bitcoin-address.ts';
import { clarity } from '../../../src/codec/clarity-encode.ts';

const BOOT = 'SP000000000000000000002Q6VF78';
const uint = (max: number) => fc.nat(max).map((value) => clarity.uint(value));
const cycle = fc.nat(4);
const term = fc
  .tuple(cycle, fc.integer({ min: 1, max: 3 }))
  .map(([first, length]) => ({
    'start-cycle-id': clarity.uint(first),
    'end-cycle-id': clarity.some(clarity.uint(first + length)),
  }));
const signerKey = fc.constantFrom(2, 3).map((prefix) => new Uint8Array(33).fill(prefix));
const key = signerKey.map((bytes) => clarity.buffer(bytes));
const bitcoinAddress = fc
  .constantFrom(0, 1)
  .map((place) => poxTuple({ version: 0, hashBytes: new Uint8Array(20).fill(place) }));
const address = { 'pox-addr': bitcoinAddress };

const log = (contract: string, value: Uint8Array): ChainEvent => ({
  kind: 'contract_log',
  contractId: `${BOOT}.${contract}`,
  topic: 'print',
  value,
});

type Values = Record<string, fc.Arbitrary<Uint8Array>>;

/** The prints of pox-2 to pox-4, by name: their data but for the cycles. */
const stacking = (principal: fc.Arbitrary<Uint8Array>): Record<string, Values> => ({
  'handle-unlock': { 'first-cycle-locked': uint(4), 'first-unlocked-cycle': uint(4) },
  'stack-stx': {
    'lock-amount': uint(9),
    'lock-period': uint(3),
    'start-burn-height': uint(99),
    'unlock-burn-height': uint(99),
    'signer-key': key,
  },
  'stack-increase': { 'increase-by': uint(9), 'total-locked': uint(9), 'signer-key': key },
  'stack-extend': { 'extend-count': uint(3), 'unlock-burn-height': uint(99), 'signer-key': key },
  'delegate-stx': {
    'amount-ustx': uint(9),
    'delegate-to': principal,
    'unlock-burn-height': fc.constantFrom(
      clarity.none(),
      clarity.some(clarity.uint(50)),
      clarity.some(clarity.uint(2n ** 128n - 1n)),
    ),
  },
  'revoke-delegate-stx': { 'delegate-to': principal },
  'delegate-stack-stx': {
    'lock-amount': uint(9),
    'unlock-burn-height': uint(99),
    'start-burn-height': uint(99),
    'lock-period': uint(3),
    delegator: principal,
    ...address,
  },
  'delegate-stack-increase': { 'increase-by': uint(9), 'total-locked': uint(9), delegator: principal, ...address },
  'delegate-stack-extend': {
    'unlock-burn-height': uint(99),
    'extend-count': uint(3),
    delegator: principal,
    ...address,
  },
  'stack-aggregation-commit': { 'reward-cycle': uint(4), 'amount-ustx': uint(9), 'signer-key': key, ...address },
  'stack-aggregation-commit-indexed': {
    'reward-cycle': uint(4),
    'amount-ustx': uint(9),
    'signer-key': key,
    ...address,
  },
  'stack-aggregation-increase': { 'reward-cycle': uint(4), 'amount-ustx': uint(9) },
});

/** The prints of pox-5, by topic. */
const staking = (principal: fc.Arbitrary<Uint8Array>): Record<string, Values> => {
  const bond = { 'bond-index': uint(1) };
  const unlock = { 'unlock-cycle': uint(6), 'unlock-burn-height': uint(400) };
  const stake = { staker: principal, signer: principal, 'amount-ustx': uint(2 ** 40), 'first-reward-cycle': uint(4) };
  const manager = { 'signer-manager': principal, 'signer-key': key };
  return {
    'setup-bond': {
      ...bond,
      'target-rate': uint(9),
      'stx-value-ratio': uint(9),
      'min-ustx-ratio': uint(9),
      'first-reward-cycle': uint(4),
      'bond-start-height': uint(200),
      ...unlock,
    },
    'add-to-allowlist': { ...bond, staker: principal, 'max-sats': uint(9) },
    'register-for-bond': {
      ...bond,
      ...stake,
      'sats-total': uint(9),
      ...unlock,
      'btc-lockup': fc.constantFrom(
        clarity.tuple({ type: clarity.ascii('l2'), txs: clarity.none() }),
        clarity.tuple({
          type: clarity.ascii('l1'),
          txs: clarity.some(
            clarity.list([
              clarity.tuple({ txid: clarity.buffer(new Uint8Array(32).fill(7)), 'output-index': clarity.uint(1) }),
            ]),
          ),
        }),
      ),
    },
    'update-bond-registration': { ...bond, ...stake, 'amount-sats': uint(9) },
    'announce-l1-early-exit': { ...bond, staker: principal },
    'unstake-sbtc': { ...bond, staker: principal, 'new-amount-sats': uint(3) },
    stake: { ...stake, ...unlock },
    'stake-update': { ...stake, 'num-cycles': uint(2), ...unlock },
    unstake: { ...stake, ...unlock },
    'register-signer': { signer: principal, 'signer-key': key },
    'grant-signer-key': { ...manager, 'auth-id': uint(9) },
    'revoke-signer-grant': manager,
    'bond-distribution': { ...bond, 'accrued-rewards-per-sat': rate },
    'calculate-rewards': {
      'stx-cycle': uint(5),
      'accrued-rewards-per-ustx': rate,
      'cycle-staked-ustx': uint(2 ** 41),
      'total-bond-rewards': uint(9),
      'total-stx-staker-rewards': uint(9),
      'reserve-deposit': uint(9),
    },
    'claim-staker-rewards-for-signer': {
      'signer-manager': principal,
      staker: principal,
      'reward-cycle': uint(5),
      'bond-index': fc.constantFrom(clarity.none(), clarity.some(clarity.uint(1))),
      'rewards-claimed': uint(3),
    },
    'claim-rewards': { 'reward-cycle': uint(5), 'total-rewards': uint(9) },
    'a-topic-to-come': {},
  };
};

/** Some of the rates aren't whole sats. */
const rate = fc.constantFrom(0n, 3n * 10n ** 17n, 2n * 10n ** 18n).map((value) => clarity.uint(value));

/** @param principals the principals that the prints name */
export function poxPrints(principals: readonly string[]): fc.Arbitrary<ChainEvent> {
  const principal = fc.constantFrom(...principals).map((address) => clarity.principal(address));
  const stackingPrints = Object.entries(stacking(principal)).map(([name, data]) =>
    fc
      .record({
        contract: fc.constantFrom('pox-2', 'pox-3', 'pox-4', 'pox-4', 'pox-4'),
        stacker: principal,
        data: fc.record(data),
        term,
        state: fc.tuple(uint(9), uint(9), uint(99)),
      })
      .map(({ contract, stacker, data, term, state: [balance, locked, unlockHeight] }) =>
        log(
          contract,
          clarity.ok(
            clarity.tuple({
              name: clarity.ascii(name),
              stacker,
              balance,
              locked,
              'burnchain-unlock-height': unlockHeight,
              data: clarity.tuple({ ...term, ...data }),
            }),
          ),
        ),
      ),
  );
  const stakingPrints = Object.entries(staking(principal)).map(([topic, fields]) =>
    fc.record(fields).map((values) => log('pox-5', clarity.tuple({ topic: clarity.ascii(topic), ...values }))),
  );
  return fc.oneof(fc.oneof(...stackingPrints), { weight: 2, arbitrary: fc.oneof(...stakingPrints) });
}

export const rewardSets: fc.Arbitrary<RewardSet | null> = fc.option(
  fc.record({
    cycle,
    signers: fc.array(
      fc.record({ key: signerKey, weight: fc.nat(9), stacked: fc.bigInt({ min: 0n, max: 2n ** 60n }) }),
      { maxLength: 3 },
    ),
  }),
);
