/** What the contracts pox-2 to pox-4 printed. */
import { type TProperties, Type } from '@sinclair/typebox';
import { Amount, Hash, Height, Hex, nullable, Principal, Uint64 } from '../../shared/values.ts';

const Integer = Type.String({ $id: 'IntegerText', pattern: '^[0-9]+$' });
const BurnHeight = Type.String({
  $id: 'BurnHeightText',
  pattern: '^[0-9]+$',
  description: 'Height of a Bitcoin block',
});

const cycles = {
  start_cycle_id: Type.Union([Integer, Type.Null()], { $id: 'StartCycle' }),
  end_cycle_id: Type.Union([Integer, Type.Null()], {
    $id: 'EndCycle',
    description: 'First reward cycle that is no longer covered',
  }),
};
const signer_key = nullable(Hex);
const delegator = Principal;
const lock = {
  lock_amount: Amount,
  lock_period: Integer,
  start_burn_height: BurnHeight,
  unlock_burn_height: BurnHeight,
  ...cycles,
};
const increase = { increase_by: Amount, total_locked: Amount, ...cycles };
const extension = { extend_count: Integer, unlock_burn_height: BurnHeight, ...cycles };
const aggregation = { reward_cycle: Integer, amount_ustx: Amount, ...cycles };

const BitcoinAddress = Type.Union([Type.String(), Type.Null()], { description: 'Bitcoin address' });

const event = <const N extends string, P extends TProperties>(name: N, data: P) =>
  Type.Object({
    block_height: Height,
    tx_id: Hash,
    tx_index: Type.Integer(),
    event_index: Type.Integer(),
    stacker: Principal,
    locked: Amount,
    balance: Amount,
    burnchain_unlock_height: BurnHeight,
    pox_addr: BitcoinAddress,
    pox_addr_raw: nullable(Hex),
    name: Type.Literal(name),
    data: Type.Object(data),
  });

export const StackingEvent = Type.Union(
  [
    event('handle-unlock', { first_cycle_locked: Integer, first_unlocked_cycle: Integer }),
    event('stack-stx', { ...lock, signer_key }),
    event('stack-increase', { ...increase, signer_key }),
    event('stack-extend', { ...extension, signer_key }),
    event('delegate-stx', {
      amount_ustx: Amount,
      delegate_to: Principal,
      unlock_burn_height: Type.Optional(BurnHeight),
      ...cycles,
    }),
    event('delegate-stack-stx', { ...lock, delegator }),
    event('delegate-stack-increase', { ...increase, delegator }),
    event('delegate-stack-extend', { ...extension, delegator }),
    event('stack-aggregation-commit', { ...aggregation, signer_key }),
    event('stack-aggregation-commit-indexed', { ...aggregation, signer_key }),
    event('stack-aggregation-increase', aggregation),
    event('revoke-delegate-stx', { delegate_to: Principal, ...cycles }),
  ],
  { $id: 'PoxEvent' },
);

export const Delegation = Type.Object(
  {
    stacker: Principal,
    pox_addr: Type.Optional(Type.String({ description: 'Bitcoin address' })),
    amount_ustx: Amount,
    burn_block_unlock_height: Type.Optional(Uint64),
    block_height: Height,
    tx_id: Hash,
  },
  { $id: 'Delegation' },
);
