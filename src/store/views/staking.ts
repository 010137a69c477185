/** Views of reward cycles and their stackers, and of the bonds and stakes of pox-5. */
import { mainnetCycles } from '../../chain/network.ts';
import { NO_BOND } from '../rows/enums.ts';
import {
  amount,
  boolean,
  bytes,
  hex,
  inBlock,
  integer,
  NULL_IF_PARTIAL,
  optionalHex,
  positionOf,
  text,
  unlessPartial,
  unsigned,
  view,
} from './view.ts';

/**
 * Number of Bitcoin blocks in a cycle, and the height of the first cycle: mainnet's, or elsewhere computed from a bond, which
 * has the cycle and height of both its ends. Needs {@link cycleSource}.
 */
const cycleLength = `iif(p.chain_id = 1, ${mainnetCycles.length}, (d.unlock_height - d.start_height) / (d.unlock_cycle - d.first_cycle))`;
const firstHeight = `iif(p.chain_id = 1, ${mainnetCycles.first}, d.start_height - d.first_cycle * ${cycleLength})`;
const startOf = (cycle: string): string => `(${firstHeight} + (${cycle}) * ${cycleLength})`;
const cycleSource = `JOIN progress p ON p.id = 1
  LEFT JOIN bonds d ON d.bond_index = (SELECT min(bond_index) FROM bonds)`;

/** A Bitcoin block of a cycle that anchors blocks. @param order `ASC` for the first one, `DESC` for the last */
const anchorOf = (value: string, order: 'ASC' | 'DESC'): string =>
  `(SELECT ${value} FROM anchor_burn_blocks a
    WHERE a.height >= ${startOf('c.cycle')} AND a.height < ${startOf('c.cycle + 1')}
    ORDER BY a.height ${order}, a.ordinal ${order} LIMIT 1)`;

const unknownLength = 'null if neither the network nor a bond gives the length of cycles';

const rewardCycles = view({
  name: 'reward_cycles',
  help: 'One row per reward cycle with a chosen signer set.',
  columns: {
    cycle: integer('c.cycle', 'Number of the reward cycle'),
    first_burn_block_height: integer(startOf('c.cycle'), `Height of its first Bitcoin block; ${unknownLength}`),
    last_burn_block_height: integer(`(${startOf('c.cycle + 1')} - 1)`, 'Height of its last Bitcoin block'),
    first_block_height: integer(
      anchorOf('a.first_block', 'ASC'),
      'Height of the first block that its Bitcoin blocks anchor; null before there is one',
    ),
    last_block_height: integer(
      anchorOf('a.first_block + a.blocks - 1', 'DESC'),
      'Height of the last block so far that its Bitcoin blocks anchor',
    ),
    signer_count: integer('c.signers', 'Number of its signers'),
    weight: integer('c.weight', 'Weight of all signers'),
    stacked: amount('c.stacked', 'Micro-STX that are stacked in the cycle'),
    block_height: integer('c.height', 'Height of the block that chose the signers'),
  },
  from: `reward_cycles c ${cycleSource}`,
  indexed: ['cycle'],
  order: ['cycle'],
});

const cycleStackers = view({
  name: 'reward_cycle_stackers',
  help: 'One row per stacker of a reward cycle under pox-4.',
  columns: {
    cycle: integer('s.cycle', 'Number of the reward cycle'),
    stacker: text('s.address', 'Principal that stacks'),
    pool: text('pool.address', 'Pool of the stacker; null for a solo stacker'),
    locked: amount(unsigned('s.locked'), 'Micro-STX that are locked'),
    signer_key: optionalHex('s.signer_key', 'Public key of the signer; null until the pool commits the STX to one'),
    signer_key_bytes: bytes('s.signer_key', 'Public key as bytes'),
    position: positionOf('s'),
  },
  from: 'cycle_stackers s LEFT JOIN principals pool ON pool.id = s.pool_id',
  indexed: ['cycle'],
});

const blockOf = (table: string): string => `JOIN blocks b ON ${inBlock(`${table}.position`)}`;

const signers = view({
  name: 'staking_signers',
  help: 'One row per signer of pox-5, with the last key that it registered.',
  columns: {
    signer: text('k.address', "Contract that manages the signer's stakers"),
    signer_key: hex('k.signer_key', 'Public key of the signer'),
    signer_key_bytes: bytes('k.signer_key', 'Public key as bytes'),
    block_height: integer('b.height', 'Height of the block of the registration'),
    position: positionOf('k'),
  },
  from: `signer_keys k ${blockOf('k')} WHERE k.current = 1`,
  indexed: ['signer'],
});

const bonds = view({
  name: 'bonds',
  help: 'One row per bond of pox-5.',
  columns: {
    bond_index: integer('d.bond_index', 'Number of the bond'),
    target_rate: integer('d.target_rate', 'Yield that the bond aims at, in basis points a year'),
    stx_value_ratio: integer('d.stx_value_ratio', 'Micro-STX per 100 sats'),
    min_ustx_ratio: integer('d.minimum_stx_ratio', 'Part of the value that must be locked in STX, in basis points'),
    first_cycle: integer('d.first_cycle', 'First reward cycle'),
    unlock_cycle: integer('d.unlock_cycle', 'Reward cycle at whose start the bond ends'),
    start_burn_block_height: integer('d.start_height', 'Bitcoin height at which the bond begins'),
    unlock_burn_block_height: integer('d.unlock_height', 'Bitcoin height at which the bond ends'),
    allowed_count: integer('d.allowed', 'Number of stakers that the bond allows'),
    capacity: amount('d.capacity', 'Sats that the allowed stakers may have in the bond'),
    registered_count: integer('d.registered', 'Number of registrations'),
    btc_locked: amount('d.btc_locked', 'Sats that are in the bond'),
    stx_locked: amount('d.stx_locked', 'Micro-STX that are locked for the bond'),
    paid_out: amount('d.paid_out', 'Sats that its stakers claimed'),
    block_height: integer('b.height', 'Height of the block that set the bond up'),
    position: positionOf('d'),
  },
  from: `bonds d ${blockOf('d')}`,
  indexed: ['bond_index'],
  order: ['bond_index'],
});

const rewardColumns = {
  rewards_accrued: amount(
    unlessPartial("coalesce(r.accrued, '0')"),
    `Sats that the staker has earned; ${NULL_IF_PARTIAL}`,
  ),
  rewards_claimed: amount(
    unlessPartial("coalesce(r.claimed, '0')"),
    `Earned sats that the staker claimed; ${NULL_IF_PARTIAL}`,
  ),
};

const bondStakers = view({
  name: 'bond_stakers',
  help: 'One row per staker in a bond of pox-5, with the current state.',
  columns: {
    bond_index: integer('s.bond_index', 'Number of the bond'),
    staker: text('staker.address', 'Principal that stakes'),
    signer: text('signer.address', 'Signer that the staker chose'),
    btc_locked: amount('s.btc_locked', 'Sats in the bond'),
    stx_locked: amount('s.stx_locked', 'Micro-STX that are locked for the bond'),
    has_left_early: boolean('s.early_exit', '1 if the staker took its Bitcoin out before the end'),
    first_cycle: integer(
      unlessPartial('s.first_cycle'),
      `First reward cycle in which the signer signs for the staker; ${NULL_IF_PARTIAL}`,
    ),
    ...rewardColumns,
    position: positionOf('s'),
  },
  from: `bond_positions s JOIN principals staker ON staker.id = s.staker_id JOIN principals signer ON signer.id = s.signer_id
  LEFT JOIN staking_rewards r ON r.staker_id = s.staker_id AND r.bond_index = s.bond_index
 WHERE s.current = 1`,
  indexed: ['bond_index', 'staker', 'signer'],
});

const stakerColumns = {
  staker: text('staker.address', 'Principal that stakes'),
  signer: text('signer.address', 'Signer that the staker chose'),
  amount: amount('s.amount', 'Micro-STX; 0 if a bond locked the STX'),
  first_cycle: integer(unlessPartial('s.first_cycle'), `First reward cycle; ${NULL_IF_PARTIAL}`),
  unlock_cycle: integer('s.unlock_cycle', 'Reward cycle at whose start the stake ends, or ended'),
  unlock_burn_block_height: integer(
    's.unlock_height',
    'Bitcoin height at which the stake ends, or ended; null if a bond ended the stake',
  ),
  ...rewardColumns,
  position: positionOf('s'),
};

/** The columns of a stake whose STX a bond locked from a cycle on. */
const endedColumns: typeof stakerColumns = {
  ...stakerColumns,
  unlock_cycle: integer('min(s.from_cycle, s.unlock_cycle)', stakerColumns.unlock_cycle.help),
  unlock_burn_block_height: integer(
    'iif(s.from_cycle < s.unlock_cycle, NULL, s.unlock_height)',
    stakerColumns.unlock_burn_block_height.help,
  ),
};

const stakers = view({
  name: 'stakers',
  help: 'One row per staker of STX without a bond under pox-5, with the current state. A staker whose STX a bond locked has a row if it earned rewards.',
  columns: stakerColumns,
  from: [
    {
      columns: Object.values(stakerColumns),
      from: `stakes s JOIN principals staker ON staker.id = s.staker_id JOIN principals signer ON signer.id = s.signer_id
  LEFT JOIN staking_rewards r ON r.staker_id = s.staker_id AND r.bond_index = ${NO_BOND}
 WHERE s.current = 1 AND s.amount <> '0'`,
    },
    {
      columns: Object.values(endedColumns),
      from: `principals staker JOIN staking_rewards r ON r.staker_id = staker.id CROSS JOIN stakes s ON s.staker_id = r.staker_id
  JOIN principals signer ON signer.id = s.signer_id
 WHERE r.bond_index = ${NO_BOND} AND s.current = 1 AND s.amount = '0'`,
    },
  ],
  indexed: ['staker', 'signer'],
});

export const stakingViews = [rewardCycles, cycleStackers, signers, bonds, bondStakers, stakers];
