import { bitcoinAddress } from './bitcoin.ts';
import type { Block, Earning } from './block.ts';
import type { Network } from './network.ts';
import { cycles } from './pox.ts';
import type { Prng } from './prng.ts';
import type { Account } from './wallet.ts';
import type { World } from './world.ts';

/** Micro-STX a tenure mints. */
const coinbaseAmount = 500_000_000n;
/** A reward is credited this many tenures later; on the public networks it is 100. */
const maturity = 6;

/** What is to be paid once the block's tenure has ended. Nobody mined tenure 0, the genesis block. */
export function earningsAt({ tenure, fees, earnings }: Block): readonly Earning[] {
  return tenure.height === 0 ? [] : [...earnings, { tenure, fees }];
}

export function hasMatured({ tenure }: Earning, tenureHeight: number): boolean {
  return tenure.height + maturity <= tenureHeight;
}

/** Credits what matures in the tenure of the height given, and returns it as the block reports it. */
export function matureRewards(earnings: readonly Earning[], tenureHeight: number, world: World) {
  const matured = earnings.filter((earning) => hasMatured(earning, tenureHeight));
  return matured.map(({ tenure, fees }) => {
    world.credit(tenure.recipient, coinbaseAmount + fees);
    return {
      coinbase_amount: String(coinbaseAmount),
      from_index_consensus_hash: tenure.indexBlockHash,
      from_stacks_block_hash: tenure.blockHash,
      miner_address: tenure.miner.address,
      recipient: tenure.recipient,
      tx_fees_anchored: String(fees),
      tx_fees_streamed_confirmed: '0',
      tx_fees_streamed_produced: '0',
    };
  });
}

/** The signers of the coming cycle and the addresses its Bitcoin goes to, one entry per reward slot. */
export function rewardSet(prng: Prng, signers: readonly Account[], network: Network) {
  const threshold = 50_000_000_000n;
  const weighted = signers.map((signer) => ({ signer, weight: prng.between(1, 8) }));
  return {
    pox_ustx_threshold: String(threshold),
    rewarded_addresses: weighted.flatMap(({ signer, weight }) =>
      Array.from({ length: weight }, () => bitcoinAddress(signer.hash160, network)),
    ),
    signers: weighted
      .map(({ signer, weight }) => ({
        signing_key: signer.publicKey.toHex(),
        stacked_amt: String(threshold * BigInt(weight) + BigInt(prng.u32())),
        weight,
      }))
      .sort((a, b) => (a.signing_key < b.signing_key ? -1 : 1)),
    start_cycle_state: { missed_reward_slots: [] },
  };
}

/** Whether the tenure elected at `burnHeight` is the first in a prepare phase, and so chooses the next signers. */
export function choosesSigners(parentBurnHeight: number, burnHeight: number): boolean {
  if (!cycles.inPreparePhase(burnHeight)) return false;
  return !cycles.inPreparePhase(parentBurnHeight) || cycles.of(parentBurnHeight) !== cycles.of(burnHeight);
}
