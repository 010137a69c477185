import { clarity } from '../../codec/clarity-encode.ts';
import {
  type ArgumentsOf,
  type CallContext,
  type ContractTemplate,
  contractInterface,
  err,
  interfaceOf,
  type Outcome,
  ok,
  okOf,
  publicFunction,
  readOnlyFunction,
  tupleType,
  userCall,
  type WorldView,
} from '../contract.ts';

const notTokenOwner = 4n;
const insufficientBalance = 1n;
/** Number of different gems. Anybody may mint some of each. */
const KINDS = 5;

const tokenUri = `data:application/json,${JSON.stringify({ sip: 16, name: 'Gem {id}', description: 'Kind {id}' })}`;
const argTypes = { 'token-id': 'uint128', amount: 'uint128', sender: 'principal', recipient: 'principal' } as const;

type TransferArguments = ArgumentsOf<typeof argTypes> & { readonly memo?: Uint8Array };

const numberIn = (world: WorldView, contract: string, key: string): bigint =>
  BigInt(world.stored(contract, key) ?? '0');
const balanceOf = (world: WorldView, contract: string, id: bigint, owner: string): bigint =>
  numberIn(world, contract, `balance:${id}:${owner}`);
const supplyOf = (world: WorldView, contract: string, id: bigint): bigint => numberIn(world, contract, `supply:${id}`);

/** Sums an amount over all kinds. */
const sumOverKinds = (amountOf: (id: bigint) => bigint): bigint =>
  Array.from({ length: KINDS }, (_, index) => amountOf(BigInt(index + 1))).reduce((sum, amount) => sum + amount, 0n);

function move(
  { world, contract, ...context }: CallContext,
  { 'token-id': id, amount, sender, recipient, memo }: TransferArguments,
): Outcome {
  const balance = balanceOf(world, contract, id, sender);
  if (sender !== context.sender) return err(notTokenOwner);
  if (balance < amount) return err(insufficientBalance);
  const print = clarity.tuple({
    type: clarity.ascii('sft_transfer'),
    'token-id': clarity.uint(id),
    amount: clarity.uint(amount),
    sender: clarity.principal(sender),
    recipient: clarity.principal(recipient),
  });
  const values = memo === undefined ? [print] : [print, clarity.buffer(memo)];
  const events = values.map((value) => ({ type: 'contract_event', contract, value }) as const);
  const received = (sender === recipient ? balance - amount : balanceOf(world, contract, id, recipient)) + amount;
  return {
    ...ok(clarity.bool(true), ...events),
    writes: [
      [`balance:${id}:${sender}`, String(balance - amount)],
      [`balance:${id}:${recipient}`, String(received)],
    ],
  };
}

const functions = {
  mint: publicFunction(
    { 'token-id': 'uint128', amount: 'uint128', recipient: 'principal' },
    ({ world, contract }, { 'token-id': id, amount, recipient }) => {
      if (id < 1n || id > KINDS) return err(notTokenOwner);
      const print = {
        type: clarity.ascii('sft_mint'),
        'token-id': clarity.uint(id),
        amount: clarity.uint(amount),
        recipient: clarity.principal(recipient),
      };
      return {
        ...ok(clarity.bool(true), { type: 'contract_event', contract, value: clarity.tuple(print) }),
        writes: [
          [`balance:${id}:${recipient}`, String(balanceOf(world, contract, id, recipient) + amount)],
          [`supply:${id}`, String(supplyOf(world, contract, id) + amount)],
        ],
      };
    },
  ),
  transfer: publicFunction(argTypes, move),
  'transfer-memo': publicFunction({ ...argTypes, memo: { buffer: { length: 34 } } }, move),
  'get-balance': readOnlyFunction(
    { 'token-id': 'uint128', who: 'principal' },
    okOf('uint128'),
    ({ world, contract }, { 'token-id': id, who }) => clarity.ok(clarity.uint(balanceOf(world, contract, id, who))),
  ),
  'get-decimals': readOnlyFunction({ 'token-id': 'uint128' }, okOf('uint128'), () => clarity.ok(clarity.uint(2))),
  'get-overall-balance': readOnlyFunction({ who: 'principal' }, okOf('uint128'), ({ world, contract }, { who }) =>
    clarity.ok(clarity.uint(sumOverKinds((id) => balanceOf(world, contract, id, who)))),
  ),
  'get-overall-supply': readOnlyFunction({}, okOf('uint128'), ({ world, contract }) =>
    clarity.ok(clarity.uint(sumOverKinds((id) => supplyOf(world, contract, id)))),
  ),
  'get-token-uri': readOnlyFunction(
    { 'token-id': 'uint128' },
    okOf({ optional: { 'string-ascii': { length: tokenUri.length } } }),
    () => clarity.ok(clarity.some(clarity.ascii(tokenUri))),
  ),
  'get-total-supply': readOnlyFunction(
    { 'token-id': 'uint128' },
    okOf('uint128'),
    ({ world, contract }, { 'token-id': id }) => clarity.ok(clarity.uint(supplyOf(world, contract, id))),
  ),
};

/** A semi-fungible token (SIP-013). Every id has a separate supply. */
export const gems: ContractTemplate = {
  name: 'gems',
  clarityVersion: 3,
  source: `;; Semi-fungible gems (SIP-013) of ${KINDS} kinds, which anyone may mint.
(define-map balances { id: uint, who: principal } uint)
(define-map supplies uint uint)
(define-map totals principal uint)
(define-data-var total uint u0)

(define-read-only (get-balance (token-id uint) (who principal))
  (ok (default-to u0 (map-get? balances { id: token-id, who: who }))))
(define-read-only (get-overall-balance (who principal)) (ok (default-to u0 (map-get? totals who))))
(define-read-only (get-total-supply (token-id uint)) (ok (default-to u0 (map-get? supplies token-id))))
(define-read-only (get-overall-supply) (ok (var-get total)))
(define-read-only (get-decimals (token-id uint)) (ok u2))
(define-read-only (get-token-uri (token-id uint)) (ok (some ${JSON.stringify(tokenUri)})))

(define-public (mint (token-id uint) (amount uint) (recipient principal))
  (begin
    (asserts! (and (> token-id u0) (<= token-id u${KINDS})) (err u4))
    (map-set balances { id: token-id, who: recipient }
      (+ amount (default-to u0 (map-get? balances { id: token-id, who: recipient }))))
    (map-set totals recipient (+ amount (default-to u0 (map-get? totals recipient))))
    (var-set total (+ amount (var-get total)))
    (map-set supplies token-id (+ amount (default-to u0 (map-get? supplies token-id))))
    (print { type: "sft_mint", token-id: token-id, amount: amount, recipient: recipient })
    (ok true)))

(define-public (transfer (token-id uint) (amount uint) (sender principal) (recipient principal))
  (let ((held (default-to u0 (map-get? balances { id: token-id, who: sender }))))
    (asserts! (is-eq tx-sender sender) (err u4))
    (asserts! (>= held amount) (err u1))
    (map-set balances { id: token-id, who: sender } (- held amount))
    (map-set balances { id: token-id, who: recipient }
      (+ amount (default-to u0 (map-get? balances { id: token-id, who: recipient }))))
    (map-set totals sender (- (default-to u0 (map-get? totals sender)) amount))
    (map-set totals recipient (+ amount (default-to u0 (map-get? totals recipient))))
    (print { type: "sft_transfer", token-id: token-id, amount: amount, sender: sender, recipient: recipient })
    (ok true)))

(define-public (transfer-memo (token-id uint) (amount uint) (sender principal) (recipient principal) (memo (buff 34)))
  (begin (try! (transfer token-id amount sender recipient)) (print memo) (ok true)))
`,
  abi: contractInterface({
    functions: interfaceOf(functions),
    maps: [
      { name: 'balances', key: tupleType({ id: 'uint128', who: 'principal' }), value: 'uint128' },
      { name: 'supplies', key: 'uint128', value: 'uint128' },
      { name: 'totals', key: 'principal', value: 'uint128' },
    ],
    variables: [{ access: 'variable', name: 'total', type: 'uint128' }],
  }),
  functions,
  variables: { total: ({ world, contract }) => clarity.uint(sumOverKinds((id) => supplyOf(world, contract, id))) },
  propose({ prng, world, contract, sender, recipient }) {
    const id = BigInt(prng.between(1, KINDS));
    const balance = balanceOf(world, contract, id, sender);
    if (balance === 0n || prng.chance(0.6)) {
      const amount = BigInt(prng.between(1, 10_000));
      return userCall(functions, 'mint', { 'token-id': id, amount, recipient: sender });
    }
    const amount = BigInt(prng.between(1, Number(balance)));
    return userCall(functions, 'transfer', { 'token-id': id, amount, sender, recipient: recipient() });
  },
};
