/** Hand-made blocks whose transactions are prints of the stacking contracts. */
import { clarity } from '../../../src/codec/clarity-encode.ts';
import { toHex } from '../../../src/codec/hex.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { alice, block, hashOf, type MadeBlock, START, type Transaction, transfer } from './handmade.ts';

export const BOOT = 'ST000000000000000000002AMW42H';

type Fields = Record<string, Uint8Array>;
/** A print of a contract. */
export interface PoxEvent {
  contract: string;
  value: Uint8Array;
}

/** Returns the node's lock event for pox-5. */
export const locked = (address: string, amount: bigint, until: number, contract = 'pox-5') => ({
  type: 'stx_lock_event',
  stx_lock_event: {
    locked_address: address,
    locked_amount: String(amount),
    unlock_height: String(until),
    contract_identifier: `${BOOT}.${contract}`,
  },
});
/** The node's event of STX that come into being. */
export const minted = (recipient: string, amount: bigint) => ({
  type: 'stx_mint_event',
  stx_mint_event: { recipient, amount: String(amount) },
});
type NodeEvent = ReturnType<typeof locked> | ReturnType<typeof minted>;

/** Returns a print of pox-5. */
export const printed = (topic: string, fields: Fields = {}): PoxEvent => ({
  contract: `${BOOT}.pox-5`,
  value: clarity.tuple({ topic: clarity.ascii(topic), ...fields }),
});

/** Returns a print that the node emits for pox-2 to pox-4. */
export const stacked = (
  contract: string,
  name: string,
  stacker: string,
  data: Fields,
  [balance, locked, unlockHeight]: readonly [number, number, number] = [1_000, 0, 0],
): PoxEvent => ({
  contract: `${BOOT}.${contract}`,
  value: clarity.ok(
    clarity.tuple({
      name: clarity.ascii(name),
      stacker: clarity.principal(stacker),
      balance: clarity.uint(balance),
      locked: clarity.uint(locked),
      'burnchain-unlock-height': clarity.uint(unlockHeight),
      data: clarity.tuple(data),
    }),
  ),
});

export const u = (value: number | bigint) => clarity.uint(value);
export const p = (address: string) => clarity.principal(address);

/** The fields of a staker's bond, and of a staker's amount at a signer. */
const inBond = (bond: number, staker: string) => ({ 'bond-index': u(bond), staker: p(staker) });
const atSigner = (staker: string, signer: string, stx: number | bigint) => ({
  staker: p(staker),
  signer: p(signer),
  'amount-ustx': u(stx),
});

export const bonds = {
  setup: (bond: number, firstCycle = 8, start = 160): PoxEvent =>
    printed('setup-bond', {
      'bond-index': u(bond),
      'target-rate': u(300),
      'stx-value-ratio': u(10_000_000),
      'min-ustx-ratio': u(1_000),
      'early-unlock-bytes': clarity.buffer(Uint8Array.of(1)),
      'first-reward-cycle': u(firstCycle),
      'bond-start-height': u(start),
      'unlock-cycle': u(firstCycle + 12),
      'unlock-burn-height': u(start + 240),
    }),
  allow: (bond: number, staker: string, sats = 1_000_000): PoxEvent =>
    printed('add-to-allowlist', { ...inBond(bond, staker), 'max-sats': u(sats) }),
  register: (
    bond: number,
    staker: string,
    signer: string,
    sats: number,
    outputs: readonly Uint8Array[] | null = null,
  ) =>
    printed('register-for-bond', {
      'bond-index': u(bond),
      ...atSigner(staker, signer, 10_000_000),
      'sats-total': u(sats),
      'first-reward-cycle': u(8),
      'unlock-cycle': u(20),
      'unlock-burn-height': u(400),
      'is-l1-lock': clarity.bool(outputs !== null),
      'btc-lockup': clarity.tuple({
        type: clarity.ascii(outputs === null ? 'l2' : 'l1'),
        txs:
          outputs === null
            ? clarity.none()
            : clarity.some(
                clarity.list(
                  outputs.map((txid, index) => clarity.tuple({ txid: clarity.buffer(txid), 'output-index': u(index) })),
                ),
              ),
      }),
    }),
  update: (bond: number, staker: string, signer: string, sats: number, firstCycle: number): PoxEvent =>
    printed('update-bond-registration', {
      'bond-index': u(bond),
      ...atSigner(staker, signer, 20_000_000),
      'amount-sats': u(sats),
      'first-reward-cycle': u(firstCycle),
    }),
  exit: (bond: number, staker: string): PoxEvent => printed('announce-l1-early-exit', inBond(bond, staker)),
  withdraw: (bond: number, staker: string, amount: number): PoxEvent =>
    printed('unstake-sbtc', { ...inBond(bond, staker), 'new-amount-sats': u(amount) }),
  distribute: (bond: number, rate: bigint): PoxEvent =>
    printed('bond-distribution', { 'bond-index': u(bond), 'accrued-rewards-per-sat': u(rate) }),
  calculate: (cycle: number, rate: bigint, staked: bigint, [bondSats, stakeSats, reserveSats] = [0, 0, 0]): PoxEvent =>
    printed('calculate-rewards', {
      'stx-cycle': u(cycle),
      'accrued-rewards-per-ustx': u(rate),
      'cycle-staked-ustx': u(staked),
      'total-bond-rewards': u(bondSats),
      'total-stx-staker-rewards': u(stakeSats),
      'reserve-deposit': u(reserveSats),
    }),
  signerClaim: (cycle: number, sats: number): PoxEvent =>
    printed('claim-rewards', { 'reward-cycle': u(cycle), 'total-rewards': u(sats) }),
  claim: (staker: string, bond: number | null, sats: number, signer: string, cycle: number): PoxEvent =>
    printed('claim-staker-rewards-for-signer', {
      'signer-manager': p(signer),
      staker: p(staker),
      'reward-cycle': u(cycle),
      'bond-index': bond === null ? clarity.none() : clarity.some(u(bond)),
      'rewards-claimed': u(sats),
    }),
  stake: (staker: string, signer: string, stx: bigint, cycles: readonly [number, number], until: number): PoxEvent =>
    printed('stake', {
      ...atSigner(staker, signer, stx),
      'first-reward-cycle': u(cycles[0]),
      'unlock-cycle': u(cycles[1]),
      'unlock-burn-height': u(until),
    }),
  updateStake: (staker: string, signer: string, stx: bigint, cycles: number, unlockCycle: number, until: number) =>
    printed('stake-update', {
      ...atSigner(staker, signer, stx),
      'num-cycles': u(cycles),
      'unlock-cycle': u(unlockCycle),
      'unlock-burn-height': u(until),
    }),
  unstake: (staker: string, signer: string, stx: bigint, unlockCycle: number, until: number): PoxEvent =>
    printed('unstake', {
      ...atSigner(staker, signer, stx),
      'first-reward-cycle': u(8),
      'unlock-cycle': u(unlockCycle),
      'unlock-burn-height': u(until),
    }),
  key: (action: 'register' | 'grant' | 'revoke', signer: string, key: Uint8Array): PoxEvent => {
    if (action === 'register') {
      return printed('register-signer', { signer: p(signer), 'signer-key': clarity.buffer(key) });
    }
    const manager = { 'signer-manager': p(signer), 'signer-key': clarity.buffer(key) };
    return action === 'grant'
      ? printed('grant-signer-key', { ...manager, 'auth-id': u(7) })
      : printed('revoke-signer-grant', manager);
  },
};

export const keyOf = (byte: number): Uint8Array => new Uint8Array(33).fill(byte);

const body = (event: PoxEvent | NodeEvent) =>
  'type' in event
    ? event
    : {
        type: 'contract_event',
        contract_event: { contract_identifier: event.contract, topic: 'print', raw_value: toHex(event.value) },
      };

let nonce = 0;

/** A block of a transaction for each list of events. */
export function poxBlock(
  parent: MadeBlock | null,
  label: string,
  transactions: readonly (readonly (PoxEvent | NodeEvent)[])[],
  fields: object = {},
): MadeBlock & { transactions: Transaction[] } {
  const transfers = transactions.map(() => transfer(alice, nonce++, 300));
  let index = 0;
  const events = transactions.flatMap((list, position) =>
    list.map((event) => ({ txid: transfers[position]!.id, event_index: index++, committed: true, ...body(event) })),
  );
  return { ...block(parent, label, transfers, { events, ...fields }), transactions: transfers };
}

/** A set of signers as a block carries it. */
export const rewardSet = (
  cycle: number,
  signers: readonly (readonly [key: Uint8Array, weight: number, stx: bigint])[],
) => ({
  cycle_number: cycle,
  reward_set: {
    pox_ustx_threshold: null,
    rewarded_addresses: [],
    signers: signers.map(([key, weight, stx]) => ({ signing_key: key.toHex(), weight, stacked_amt: String(stx) })),
  },
});

/** Returns the payload that announces a Bitcoin block. */
export const burnBlock = (
  height: number,
  label: string,
  parent: string | null,
  payments: readonly (readonly [string, number])[],
) =>
  ({
    path: '/new_burn_block',
    text: JSON.stringify({
      burn_block_hash: hashOf(`burn ${label}`),
      burn_block_height: height,
      parent_burn_block_hash: parent === null ? null : hashOf(`burn ${parent}`),
      burn_amount: 5,
      reward_recipients: payments.map(([recipient, amt]) => ({ recipient, amt })),
      reward_slot_holders: payments.map(([recipient]) => recipient),
      pox_transactions: [
        {
          txid: hashOf(`payment in ${label}`),
          reward_recipients: payments.map(([recipient, amt], index) => ({ recipient, amt, utxo_idx: index })),
        },
      ],
    }),
    receivedAt: START * 1_000_000,
  }) satisfies ReceivedEvent;
