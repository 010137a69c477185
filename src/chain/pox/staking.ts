/**
 * How the prints of pox-5 are declared and read, which there are, and what they change. STX are in micro-STX, BTC and sBTC in
 * sats.
 */
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
  UnreadablePrint,
  uint,
  type ValuesOf,
  valuesOf,
} from './print.ts';

/** A Bitcoin output that a time lock is proven by; the id as Bitcoin shows it. */
export interface BitcoinOutput {
  txId: Uint8Array;
  index: number;
}

/**
 * A change that a print causes. Cycles are reward cycles, heights are Bitcoin's; a lock that ends at a height is free
 * from it on.
 */
export type StakingChange =
  | {
      kind: 'bond';
      bond: number;
      /** Basis points a year. */
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
  /** How many sats a staker may put into a bond. */
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
      /** The outputs of a lock on Bitcoin; null where sBTC was deposited. */
      outputs: readonly BitcoinOutput[] | null;
    }
  /** Another signer, from a cycle on. */
  | {
      kind: 'registration_update';
      bond: number;
      staker: string;
      signer: string;
      stx: bigint;
      sats: bigint;
      firstCycle: number;
    }
  /** The Bitcoin of a position is released before the bond's end; its STX stay locked. */
  | { kind: 'early_exit'; bond: number; staker: string }
  /** A withdrawal of sBTC; `sats` is what remains. */
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
  /** What the stake is from `fromCycle` on; where a stake ends, that is its `unlockCycle`. */
  | {
      kind: 'stake_update';
      staker: string;
      signer: string;
      stx: bigint;
      fromCycle: number;
      unlockCycle: number;
      unlockHeight: number;
    }
  /** Keys have 33 bytes. A registration makes the key the signer's; a grant allows it to, until it is revoked. */
  | {
      kind: 'signer_key';
      action: 'register' | 'grant' | 'revoke';
      signer: string;
      key: Uint8Array;
      authId: bigint | null;
    }
  /**
   * Sats for the sats of a bond: `rate` is for one, times 10^18. The cycle is that of the calculation it is a part of, and
   * null where there is none.
   */
  | { kind: 'bond_distribution'; bond: number; rate: bigint; cycle: number | null }
  /** Sats for the stakes of a cycle: `rate` is for a micro-STX, times 10^18; `staked` the micro-STX that get any. */
  | { kind: 'reward_calculation'; cycle: number; rate: bigint; staked: bigint }
  /** Sats that a staker took, of a bond or, where that is null, of its stake. */
  | { kind: 'reward_claim'; staker: string; bond: number | null; sats: bigint };

/** The change of a kind. */
export type StakingChangeOf<Kind extends StakingChange['kind']> = Extract<StakingChange, { kind: Kind }>;

/** One topic of a contract. */
export interface StakingTopic {
  name: string;
  /** Reads a print's fields. @throws UnreadablePrint where they are not those of the topic */
  read(fields: Tuple): StakingChange[];
}

/** Declares a topic of pox-5. @param changes makes the changes of a print; none for a print that is only a log */
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
