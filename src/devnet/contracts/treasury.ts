import { clarity } from '../../codec/clarity-encode.ts';
import {
  bufferOf,
  type ChainEvent,
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  err,
  fieldOf,
  itemsOf,
  ok,
  principalOf,
  publicFunction,
  uintOf,
} from '../contract.ts';
import { amountCodes, memoBytes, postConditions, stxCondition } from '../transaction.ts';

/** Errors of `stx-transfer?` and `stx-burn?`. */
const insufficientFunds = 1n;
const toItself = 2n;
const nothing = 3n;

interface Payment {
  to: string;
  amount: bigint;
}

/** A contract for STX: deposits, withdrawals with a memo, payments to several accounts, and burns. */
export const treasury: ContractTemplate = {
  name: 'treasury',
  clarityVersion: 3,
  source: `;; Holds STX for everybody.
(define-public (deposit (amount uint))
  (begin
    (try! (stx-transfer? amount tx-sender (as-contract tx-sender)))
    (print { action: "deposit", amount: amount, from: tx-sender })
    (ok true)))

(define-public (withdraw (amount uint) (memo (buff 34)))
  (let ((recipient tx-sender))
    (as-contract (stx-transfer-memo? amount tx-sender recipient memo))))

(define-private (pay (payment { amount: uint, to: principal }) (result (response bool uint)))
  (match result done (stx-transfer? (get amount payment) tx-sender (get to payment)) failed result))

(define-public (share (payments (list 20 { amount: uint, to: principal })))
  (fold pay payments (ok true)))

(define-public (burn (amount uint))
  (stx-burn? amount tx-sender))
`,
  abi: contractInterface({
    functions: [
      publicFunction('burn', { amount: 'uint128' }),
      publicFunction('deposit', { amount: 'uint128' }),
      publicFunction('share', {
        payments: {
          list: {
            type: {
              tuple: [
                { name: 'amount', type: 'uint128' },
                { name: 'to', type: 'principal' },
              ],
            },
            length: 20,
          },
        },
      }),
      publicFunction('withdraw', { amount: 'uint128', memo: { buffer: { length: 34 } } }),
    ],
  }),
  propose({ prng, world, contract, sender, recipient }) {
    const amount = BigInt(prng.between(1, 2_000_000));
    switch (
      prng.weighted([
        [4, 'deposit'],
        [3, 'withdraw'],
        [2, 'share'],
        [1, 'burn'],
      ] as const)
    ) {
      case 'withdraw':
        if (world.balance(contract) >= amount || prng.chance(0.1))
          return withdraw(amount, `payout ${prng.below(1000)}`);
        return deposit(amount, sender);
      case 'share':
        return share(
          Array.from({ length: prng.between(2, 8) }, () => ({
            to: recipient(),
            amount: BigInt(prng.between(1, 50_000)),
          })),
        );
      case 'burn':
        return burn(amount);
      default:
        return deposit(amount, sender);
    }
  },
  empty({ prng, world, contract }) {
    const balance = world.balance(contract);
    return balance === 0n ? undefined : withdraw(balance, `all ${prng.below(1000)}`);
  },
  calls: {
    burn: ([amount]) => burn(uintOf(amount)),
    deposit: ([amount]) => ({ run: deposited(uintOf(amount)) }),
    share: ([payments]) => {
      const paid = itemsOf(payments).map((payment) => ({
        to: principalOf(fieldOf(payment, 'to')),
        amount: uintOf(fieldOf(payment, 'amount')),
      }));
      return { run: shared(paid) };
    },
    withdraw: ([amount, memo]) => ({ run: withdrawn(uintOf(amount), bufferOf(memo)) }),
  },
};

function deposit(amount: bigint, from: string): ContractCall {
  return {
    functionName: 'deposit',
    args: [clarity.uint(amount)],
    postConditions: postConditions([stxCondition(from, amountCodes.lessOrEqual, amount)]),
    run: deposited(amount),
  };
}

const deposited =
  (amount: bigint): ContractCall['run'] =>
  ({ world, contract, sender, burnHeight }) => {
    if (amount === 0n) return err(nothing);
    if (world.spendable(sender, burnHeight) < amount) return err(insufficientFunds);
    const note = clarity.tuple({
      action: clarity.ascii('deposit'),
      amount: clarity.uint(amount),
      from: clarity.principal(sender),
    });
    return ok(
      clarity.bool(true),
      { type: 'stx_transfer_event', sender, recipient: contract, amount },
      { type: 'contract_event', contract, value: note },
    );
  };

function withdraw(amount: bigint, memo: string): ContractCall {
  const memoValue = memoBytes(memo);
  return {
    functionName: 'withdraw',
    args: [clarity.uint(amount), clarity.buffer(memoValue)],
    run: withdrawn(amount, memoValue),
  };
}

const withdrawn =
  (amount: bigint, memo: Uint8Array): ContractCall['run'] =>
  ({ world, contract, sender }) => {
    if (amount === 0n) return err(nothing);
    if (world.balance(contract) < amount) return err(insufficientFunds);
    const event: ChainEvent = { type: 'stx_transfer_event', sender: contract, recipient: sender, amount, memo };
    return ok(clarity.bool(true), event);
  };

function share(payments: readonly Payment[]): ContractCall {
  const list = payments.map(({ to, amount }) =>
    clarity.tuple({ amount: clarity.uint(amount), to: clarity.principal(to) }),
  );
  return { functionName: 'share', args: [clarity.list(list)], run: shared(payments) };
}

/** Makes payments in order. If one fails, all are undone. */
const shared =
  (payments: readonly Payment[]): ContractCall['run'] =>
  ({ world, sender, burnHeight }) => {
    let remaining = world.spendable(sender, burnHeight);
    for (const { to, amount } of payments) {
      if (amount === 0n) return err(nothing);
      if (to === sender) return err(toItself);
      if (remaining < amount) return err(insufficientFunds);
      remaining -= amount;
    }
    const paid = payments.map(
      ({ to, amount }): ChainEvent => ({ type: 'stx_transfer_event', sender, recipient: to, amount }),
    );
    return ok(clarity.bool(true), ...paid);
  };

function burn(amount: bigint): ContractCall {
  return {
    functionName: 'burn',
    args: [clarity.uint(amount)],
    run: ({ world, sender, burnHeight }) => {
      if (amount === 0n) return err(nothing);
      if (world.spendable(sender, burnHeight) < amount) return err(insufficientFunds);
      return ok(clarity.bool(true), { type: 'stx_burn_event', sender, amount });
    },
  };
}
