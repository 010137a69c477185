/**
 * The prints of pox-5: declarations and parsing, their list, and their changes. STX are in micro-STX, BTC and sBTC in
 * sats.
 */
import { PayloadError } from '../payload-reader.ts';
import {
  buffer,
  count,
  type Field,
  type Fields,
  optionalCount,
  principal,
  type Tuple,
  tuple,
  tupleOf,
  uint,
  type ValuesOf,
  valuesOf,
} from './print.ts';

/** A Bitcoin output that proves a time lock; the id in Bitcoin's display order. */
export interface BitcoinOutput {
  txId: Uint8Array;
  index: number;
}

/**
 * A change by a print. Cycles are reward cycles, heights are Bitcoin heights. STX are unlocked from the unlock height
 * on.
 */
export type StakingChange =
  | {
      kind: 'bond';
      bond: number;
      /** Basis points per year. */
      targetRate: number;
      /** micro-STX per 100 sats. */
      stxValueRatio: number;
      /** Basis points. */
      minimumStxRatio: number;
      firstCycle: number;
      startHeight: number;
      unlockCycle: number;
      unlockHeight: number;
    }
  /** Maximum sats that a staker may register for a bond. */
  | { kind: 'allowance'; bond: number; staker: string; sats: bigint }
  | {
      kind: 'registration';
      bond: number;
      staker: string;
      signer: string;
      stx: bigint;
      sats: bigint;
      firstCycle: number;
      unlockCycle: number;
      unlockHeight: number;
      /** The outputs of a lock on Bitcoin; null if sBTC was deposited. */
      outputs: readonly BitcoinOutput[] | null;
    }
  /** A new signer from a cycle on. */
  | {
      kind: 'registration_update';
      bond: number;
      staker: string;
      signer: string;
      stx: bigint;
      sats: bigint;
      firstCycle: number;
    }
  /** The BTC of a position are released before the bond's end; its STX stay locked. */
  | { kind: 'early_exit'; bond: number; staker: string }
  /** A withdrawal of sBTC; `sats` is the remaining amount. */
  | { kind: 'withdrawal'; bond: number; staker: string; sats: bigint }
  /** STX staked without a bond. */
  | {
      kind: 'stake';
      staker: string;
      signer: string;
      stx: bigint;
      firstCycle: number;
      unlockCycle: number;
      unlockHeight: number;
    }
  /** The stake from `fromCycle` on; for a stake that ends, `fromCycle` is its `unlockCycle`. */
  | {
      kind: 'stake_update';
      staker: string;
      signer: string;
      stx: bigint;
      fromCycle: number;
      unlockCycle: number;
      unlockHeight: number;
    }
  /**
   * Keys have 33 bytes. A registration makes the key the signer's key. A grant permits the registration until it is
   * revoked.
   */
  | {
      kind: 'signer_key';
      action: 'register' | 'grant' | 'revoke';
      signer: string;
      key: Uint8Array;
      authId: bigint | null;
    }
  /**
   * Distributes sats to a bond: `rate` is sats per sat of the bond, times 10^18. `cycle` is the cycle of the reward
   * calculation that contains the distribution; null if there is none.
   */
  | { kind: 'bond_distribution'; bond: number; rate: bigint; cycle: number | null }
  /**
   * Distributes sats to the stakes of a cycle: `rate` is sats per micro-STX, times 10^18; `staked` is the number of
   * micro-STX that share them. `bondSats`, `stakeSats` and `reserveSats` are the sats for bonds, stakes and the reserve.
   */
  | {
      kind: 'reward_calculation';
      cycle: number;
      rate: bigint;
      staked: bigint;
      bondSats: bigint;
      stakeSats: bigint;
      reserveSats: bigint;
    }
  /** Sats that a signer's contract claimed for its stakers for a cycle. */
  | { kind: 'signer_claim'; cycle: number; sats: bigint }
  /** Sats that a staker claimed for a cycle from a signer, for a bond or, if `bond` is null, for its stake. */
  | { kind: 'reward_claim'; staker: string; signer: string; cycle: number; bond: number | null; sats: bigint };

export type StakingChangeOf<Kind extends StakingChange['kind']> = Extract<StakingChange, { kind: Kind }>;

export interface StakingTopic {
  name: string;
  /** Parses a print's fields. @throws PayloadError if they don't match the topic */
  read(fields: Tuple): StakingChange[];
}

/** Declares a topic of pox-5. @param changes makes the changes of a print; empty for a print that is only a log */
const stakingTopic = <F extends Fields>(
  name: string,
  fields: F,
  changes: (values: ValuesOf<F>) => StakingChange[] = () => [],
): StakingTopic => ({ name, read: (tuple) => changes(valuesOf(fields, tuple)) });

const bond = count('bond-index');
const staker = principal('staker');
const signer = principal('signer');
const manager = { signer: principal('signer-manager'), key: buffer('signer-key') };
const stx = uint('amount-ustx');
const firstCycle = count('first-reward-cycle');
const unlock = { unlockCycle: count('unlock-cycle'), unlockHeight: count('unlock-burn-height') };

const output = { txId: buffer('txid'), index: count('output-index') };

/** Outputs of a lock on Bitcoin (`l1`); null if sBTC was deposited (`l2`). */
const lockup: Field<BitcoinOutput[] | null> = (fields) => {
  const btcLockup = tuple('btc-lockup')(fields);
  const type = btcLockup.get('type');
  if (type?.type !== 'string-ascii') throw new PayloadError('Field btc-lockup has no type');
  if (type.value !== 'l1') return null;
  const transactions = btcLockup.get('txs');
  const list = transactions?.type === 'some' ? transactions.value : transactions;
  if (list?.type !== 'list') return [];
  return list.value.map((item) => {
    const entry = tupleOf(item);
    if (entry === null) throw new PayloadError('Field btc-lockup.txs holds no tuples');
    return { txId: output.txId(entry), index: output.index(entry) };
  });
};

/**
 * The prints of pox-5 by topic. Names of amounts end in the unit: `ustx` is micro-STX. Locks come from the node's lock events.
 */
export const stakingTopics: readonly StakingTopic[] = [
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
  // The update takes effect in the next cycle; `num-cycles` are left from there.
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
    {
      cycle: count('stx-cycle'),
      rate: uint('accrued-rewards-per-ustx'),
      staked: uint('cycle-staked-ustx'),
      bondSats: uint('total-bond-rewards'),
      stakeSats: uint('total-stx-staker-rewards'),
      reserveSats: uint('reserve-deposit'),
    },
    (calculated) => [{ kind: 'reward_calculation', ...calculated }],
  ),
  stakingTopic(
    'claim-staker-rewards-for-signer',
    {
      staker,
      signer: principal('signer-manager'),
      cycle: count('reward-cycle'),
      bond: optionalCount('bond-index'),
      sats: uint('rewards-claimed'),
    },
    (claimed) => [{ kind: 'reward_claim', ...claimed }],
  ),
  // A signer's contract claims the rewards of its stakers, and the stakers claim their shares from the contract.
  stakingTopic('claim-rewards', { cycle: count('reward-cycle'), sats: uint('total-rewards') }, (claimed) => [
    { kind: 'signer_claim', ...claimed },
  ]),
  stakingTopic('set-bond-admin', {}),
  stakingTopic('set-pause-admin', {}),
  stakingTopic('pause-rewards', {}),
  // Topics of earlier releases of the contract.
  stakingTopic('allow-contract-caller', {}),
  stakingTopic('disallow-contract-caller', {}),
];
