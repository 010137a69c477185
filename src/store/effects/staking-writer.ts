/** Staking by pox-5: which writer takes which change. */
import type { Database } from 'bun:sqlite';
import type { Effect, Sign } from '../../chain/effect.ts';
import { bondTotals } from './bond-totals.ts';
import { bondPositionWriter, bondWriter } from './bond-writer.ts';
import type { Dictionaries } from './dictionary.ts';
import { signerKeyWriter } from './signer-key-writer.ts';
import { stakeWriter } from './stake-writer.ts';
import { stakingRewardsWriter } from './staking-rewards-writer.ts';

type StakingEffect = Extract<Effect, { kind: 'staking' }>;
type Change = StakingEffect['change'];
type Of<Kind extends Change['kind']> = Extract<Change, { kind: Kind }>;

/** What takes a change, for each kind. The effect says where in the chain it stands. */
type Writers = { [Kind in Change['kind']]: (change: Of<Kind>, effect: StakingEffect, sign: Sign) => void };

/** What applies the effects on staking through this connection. */
export function stakingWriter(db: Database, dictionaries: Dictionaries) {
  const totals = bondTotals(db);
  const bonds = bondWriter(db, dictionaries, totals);
  const stakes = stakeWriter(db, dictionaries);
  const positions = bondPositionWriter(db, dictionaries, totals, stakes);
  const rewards = stakingRewardsWriter(db, dictionaries, totals);
  const writers: Writers = {
    bond: bonds.bond,
    allowance: bonds.allowance,
    registration: positions.registration,
    registration_update: positions.registrationUpdate,
    early_exit: positions.earlyExit,
    withdrawal: positions.withdrawal,
    stake: stakes.change,
    stake_update: stakes.change,
    signer_key: signerKeyWriter(db, dictionaries),
    bond_distribution: (change, _, sign) => rewards.distribute(change, sign),
    reward_calculation: (change, _, sign) => rewards.calculate(change, sign),
    reward_claim: (change, _, sign) => rewards.claim(change, sign),
  };
  const take = <Kind extends Change['kind']>(change: Of<Kind>, effect: StakingEffect): void => {
    const write: Writers[Kind] = writers[change.kind as Kind];
    write(change, effect, effect.sign);
  };
  return (effect: StakingEffect): void => take(effect.change, effect);
}
