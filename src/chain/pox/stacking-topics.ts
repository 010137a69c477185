/** The prints that pox-2, pox-3 and pox-4 have in common. Amounts are micro-STX, heights Bitcoin's. */
import { count, optionalBuffer, optionalCount, optionalUint, principal, uint } from './fields.ts';
import { less, type StackingState, stackingTopic, term } from './stacking.ts';

/** pox-4 says them; the first cycle is that after the next where the print is of a prepare phase. */
const cycles = { end_cycle_id: optionalCount('end-cycle-id'), start_cycle_id: optionalCount('start-cycle-id') };
const signerKey = { signer_key: optionalBuffer('signer-key') };
const delegator = { delegator: principal('delegator') };

interface Cycles {
  end_cycle_id: number | null;
  start_cycle_id: number | null;
}

const soloTerm = ({ start_cycle_id, end_cycle_id, signer_key }: Cycles & { signer_key: Uint8Array | null }) =>
  term(start_cycle_id, end_cycle_id, { kind: 'solo_term' as const, signerKey: signer_key });

const pooledTerm = ({ start_cycle_id, end_cycle_id, delegator }: Cycles & { delegator: string }) =>
  term(start_cycle_id, end_cycle_id, { kind: 'pooled_term' as const, pool: delegator });

const commitment = ({ start_cycle_id, end_cycle_id, signer_key }: Cycles & { signer_key: Uint8Array | null }) =>
  term(start_cycle_id, end_cycle_id, { kind: 'commitment' as const, signerKey: signer_key });

const locked = (
  { balance }: StackingState,
  { lock_amount, unlock_burn_height }: { lock_amount: bigint; unlock_burn_height: bigint },
) => ({ balance: less(balance, lock_amount), locked: lock_amount, unlockHeight: unlock_burn_height });

const increased = ({ balance, locked }: StackingState, { increase_by }: { increase_by: bigint }) => ({
  balance: less(balance, increase_by),
  locked: locked + increase_by,
});

const extended = (_: StackingState, { unlock_burn_height }: { unlock_burn_height: bigint }) => ({
  unlockHeight: unlock_burn_height,
});

/** The print for a stacker that missed a reward slot: the lock ends early, and no lock event says so. */
export const handleUnlock = stackingTopic({
  name: 'handle-unlock',
  fields: {
    first_cycle_locked: uint('first-cycle-locked'),
    first_unlocked_cycle: uint('first-unlocked-cycle'),
  },
  after: ({ balance, locked }) => ({ balance: balance + locked }),
  changes: () => [{ kind: 'early_unlock' }],
});

export const stackStx = stackingTopic({
  name: 'stack-stx',
  fields: {
    lock_amount: uint('lock-amount'),
    lock_period: uint('lock-period'),
    start_burn_height: uint('start-burn-height'),
    unlock_burn_height: uint('unlock-burn-height'),
    ...signerKey,
    ...cycles,
  },
  after: locked,
  changes: soloTerm,
});

export const stackIncrease = stackingTopic({
  name: 'stack-increase',
  fields: { increase_by: uint('increase-by'), total_locked: uint('total-locked'), ...signerKey, ...cycles },
  after: increased,
  changes: soloTerm,
});

export const stackExtend = stackingTopic({
  name: 'stack-extend',
  fields: {
    extend_count: uint('extend-count'),
    unlock_burn_height: uint('unlock-burn-height'),
    ...signerKey,
    ...cycles,
  },
  after: extended,
  changes: soloTerm,
});

export const delegateStx = stackingTopic({
  name: 'delegate-stx',
  fields: {
    amount_ustx: uint('amount-ustx'),
    delegate_to: principal('delegate-to'),
    unlock_burn_height: optionalUint('unlock-burn-height'),
    end_cycle_id: optionalUint('end-cycle-id'),
    start_cycle_id: optionalUint('start-cycle-id'),
  },
  after: ({ unlockHeight }, { unlock_burn_height }) => ({ unlockHeight: unlock_burn_height ?? unlockHeight }),
  changes: ({ delegate_to, unlock_burn_height }) => [
    { kind: 'delegation', pool: delegate_to, unlockHeight: unlock_burn_height },
  ],
  omits: 'unlock_burn_height',
});

export const delegateStackStx = stackingTopic({
  name: 'delegate-stack-stx',
  fields: {
    lock_amount: uint('lock-amount'),
    unlock_burn_height: uint('unlock-burn-height'),
    start_burn_height: uint('start-burn-height'),
    lock_period: uint('lock-period'),
    ...delegator,
    ...cycles,
  },
  after: locked,
  changes: pooledTerm,
});

export const delegateStackIncrease = stackingTopic({
  name: 'delegate-stack-increase',
  fields: { increase_by: uint('increase-by'), total_locked: uint('total-locked'), ...delegator, ...cycles },
  after: increased,
  changes: pooledTerm,
});

export const delegateStackExtend = stackingTopic({
  name: 'delegate-stack-extend',
  fields: {
    unlock_burn_height: uint('unlock-burn-height'),
    extend_count: uint('extend-count'),
    ...delegator,
    ...cycles,
  },
  after: extended,
  changes: pooledTerm,
});

const aggregation = { reward_cycle: count('reward-cycle'), amount_ustx: uint('amount-ustx') };

export const stackAggregationCommit = stackingTopic({
  name: 'stack-aggregation-commit',
  fields: { ...aggregation, ...signerKey, ...cycles },
  changes: commitment,
});

export const stackAggregationCommitIndexed = stackingTopic({
  name: 'stack-aggregation-commit-indexed',
  fields: { ...aggregation, ...signerKey, ...cycles },
  changes: commitment,
});

export const stackAggregationIncrease = stackingTopic({
  name: 'stack-aggregation-increase',
  fields: { ...aggregation, ...cycles },
});

export const revokeDelegateStx = stackingTopic({
  name: 'revoke-delegate-stx',
  fields: { delegate_to: principal('delegate-to'), ...cycles },
  changes: ({ delegate_to }) => [{ kind: 'revocation', pool: delegate_to }],
});
