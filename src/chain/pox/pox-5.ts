import {
  buffer,
  count,
  type Field,
  optionalCount,
  principal,
  tuple,
  tupleOf,
  UnreadablePrint,
  uint,
} from './fields.ts';
import { type BitcoinOutput, type StakingTopic, stakingTopic } from './staking.ts';

const bond = count('bond-index');
const staker = principal('staker');
const signer = principal('signer');
const manager = { signer: principal('signer-manager'), key: buffer('signer-key') };
const stx = uint('amount-ustx');
const firstCycle = count('first-reward-cycle');
const unlock = { unlockCycle: count('unlock-cycle'), unlockHeight: count('unlock-burn-height') };

const output = { txId: buffer('txid'), index: count('output-index') };

/** Outputs of a lock on Bitcoin, `l1`; null where sBTC was handed in, `l2`. */
const lockup: Field<BitcoinOutput[] | null> = (fields) => {
  const btcLockup = tuple('btc-lockup')(fields);
  const type = btcLockup.get('type');
  if (type?.type !== 'string-ascii') throw new UnreadablePrint('Field btc-lockup has no type');
  if (type.value !== 'l1') return null;
  const given = btcLockup.get('txs');
  const list = given?.type === 'some' ? given.value : given;
  if (list?.type !== 'list') return [];
  return list.value.map((item) => {
    const one = tupleOf(item);
    if (one === null) throw new UnreadablePrint('Field btc-lockup.txs holds no tuples');
    return { txId: output.txId(one), index: output.index(one) };
  });
};

/**
 * What pox-5 prints, by topic. Names of amounts end in the unit: `ustx` is micro-STX. Locks are reported by the node's
 * own lock events.
 */
export const pox5: readonly StakingTopic[] = [
  stakingTopic(
    'setup-bond',
    {
      bond,
      targetRate: count('target-rate'),
      stxValueRatio: count('stx-value-ratio'),
      minimumStxRatio: count('min-ustx-ratio'),
      firstCycle,
      startHeight: count('bond-start-height'),
      ...unlock,
    },
    (set) => [{ kind: 'bond', ...set }],
  ),
  stakingTopic('add-to-allowlist', { bond, staker, sats: uint('max-sats') }, (added) => [
    { kind: 'allowance', ...added },
  ]),
  stakingTopic(
    'register-for-bond',
    { bond, staker, signer, stx, sats: uint('sats-total'), firstCycle, ...unlock, outputs: lockup },
    (registered) => [{ kind: 'registration', ...registered }],
  ),
  stakingTopic(
    'update-bond-registration',
    { bond, staker, signer, stx, sats: uint('amount-sats'), firstCycle },
    (updated) => [{ kind: 'registration_update', ...updated }],
  ),
  stakingTopic('announce-l1-early-exit', { bond, staker }, (exit) => [{ kind: 'early_exit', ...exit }]),
  stakingTopic('unstake-sbtc', { bond, staker, sats: uint('new-amount-sats') }, (withdrawn) => [
    { kind: 'withdrawal', ...withdrawn },
  ]),
  stakingTopic('stake', { staker, signer, stx, firstCycle, ...unlock }, (staked) => [{ kind: 'stake', ...staked }]),
  // It counts from the next cycle on, from which `num-cycles` are left.
  stakingTopic('stake-update', { staker, signer, stx, cyclesLeft: count('num-cycles'), ...unlock }, (updated) => {
    const { cyclesLeft, ...stake } = updated;
    return [{ kind: 'stake_update', ...stake, fromCycle: stake.unlockCycle - cyclesLeft }];
  }),
  stakingTopic('unstake', { staker, signer, stx, ...unlock }, (ended) => [
    { kind: 'stake_update', ...ended, fromCycle: ended.unlockCycle },
  ]),
  stakingTopic('register-signer', { signer, key: buffer('signer-key') }, (registered) => [
    { kind: 'signer_key', action: 'register', ...registered, authId: null },
  ]),
  stakingTopic('grant-signer-key', { ...manager, authId: uint('auth-id') }, (granted) => [
    { kind: 'signer_key', action: 'grant', ...granted },
  ]),
  stakingTopic('revoke-signer-grant', manager, (revoked) => [
    { kind: 'signer_key', action: 'revoke', ...revoked, authId: null },
  ]),
  stakingTopic('bond-distribution', { bond, rate: uint('accrued-rewards-per-sat') }, (distributed) => [
    { kind: 'bond_distribution', ...distributed, cycle: null },
  ]),
  stakingTopic(
    'calculate-rewards',
    { cycle: count('stx-cycle'), rate: uint('accrued-rewards-per-ustx'), staked: uint('cycle-staked-ustx') },
    (calculated) => [{ kind: 'reward_calculation', ...calculated }],
  ),
  stakingTopic(
    'claim-staker-rewards-for-signer',
    { staker, bond: optionalCount('bond-index'), sats: uint('rewards-claimed') },
    (claimed) => [{ kind: 'reward_claim', ...claimed }],
  ),
  // What a signer's contract takes to hand it on; each staker's share is claimed from there.
  stakingTopic('claim-rewards', {}),
  stakingTopic('set-bond-admin', {}),
  stakingTopic('set-pause-admin', {}),
  stakingTopic('pause-rewards', {}),
  // Of earlier releases of the contract.
  stakingTopic('allow-contract-caller', {}),
  stakingTopic('disallow-contract-caller', {}),
];
