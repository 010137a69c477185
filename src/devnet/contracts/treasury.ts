import { principal, tupleOf, uint } from '../../chain/pox/print.ts';
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { type ClarityValue, decodeClarity } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import {
  type ChainEvent,
  type ContractTemplate,
  contractInterface,
  err,
  interfaceOf,
  ok,
  publicFunction,
  tupleType,
  userCall,
} from '../contract.ts';
import { amountCodes, memoBytes, postConditions, stxCondition } from '../transaction.ts';

/** Errors of `stx-transfer?` and `stx-burn?`. */
const insufficientFunds = 1n;
const toItself = 2n;
const zeroAmount = 3n;

const payment = tupleType({ amount: 'uint128', to: 'principal' });

function decodePayment({ bytes }: Pick<ClarityValue, 'bytes'>): { to: string; amount: bigint } {
  const fields = tupleOf(decodedOrThrow(decodeClarity(bytes)))!;
  return { to: principal('to')(fields), amount: uint('amount')(fields) };
}

const functions = {
  burn: publicFunction({ amount: 'uint128' }, ({ world, sender, burnHeight }, { amount }) => {
    if (amount === 0n) return err(zeroAmount);
    if (world.spendable(sender, burnHeight) < amount) return err(insufficientFunds);
    return ok(clarity.bool(true), { type: 'stx_burn_event', sender, amount });
  }),
  deposit: publicFunction({ amount: 'uint128' }, ({ world, contract, sender, burnHeight }, { amount }) => {
    if (amount === 0n) return err(zeroAmount);
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
  }),
  /** Makes payments in order. If one fails, all are undone. */
  share: publicFunction(
    { payments: { list: { type: payment, length: 20 } } },
    ({ world, sender, burnHeight }, { payments }) => {
      let remaining = world.spendable(sender, burnHeight);
      const events: ChainEvent[] = [];
      for (const { to: recipient, amount } of payments.map(decodePayment)) {
        if (amount === 0n) return err(zeroAmount);
        if (recipient === sender) return err(toItself);
        if (remaining < amount) return err(insufficientFunds);
        remaining -= amount;
        events.push({ type: 'stx_transfer_event', sender, recipient, amount });
      }
      return ok(clarity.bool(true), ...events);
    },
  ),
  withdraw: publicFunction(
    { amount: 'uint128', memo: { buffer: { length: 34 } } },
    ({ world, contract, sender }, { amount, memo }) => {
      if (amount === 0n) return err(zeroAmount);
      if (world.balance(contract) < amount) return err(insufficientFunds);
      return ok(clarity.bool(true), { type: 'stx_transfer_event', sender: contract, recipient: sender, amount, memo });
    },
  ),
};

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
  abi: contractInterface({ functions: interfaceOf(functions) }),
  functions,
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
        return userCall(functions, 'share', {
          payments: Array.from({ length: prng.between(2, 8) }, () => {
            const to = clarity.principal(recipient());
            return { bytes: clarity.tuple({ to, amount: clarity.uint(prng.between(1, 50_000)) }) };
          }),
        });
      case 'burn':
        return userCall(functions, 'burn', { amount });
      default:
        return deposit(amount, sender);
    }
  },
  empty({ prng, world, contract }) {
    const balance = world.balance(contract);
    return balance === 0n ? undefined : withdraw(balance, `all ${prng.below(1000)}`);
  },
};

const deposit = (amount: bigint, from: string) =>
  userCall(
    functions,
    'deposit',
    { amount },
    { postConditions: postConditions([stxCondition(from, amountCodes.lessOrEqual, amount)]) },
  );

const withdraw = (amount: bigint, memo: string) => userCall(functions, 'withdraw', { amount, memo: memoBytes(memo) });
