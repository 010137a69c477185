import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { CycleStacker, PoxOutput, RewardCycle, StackingSigner } from '../../../store/model/staking.ts';
import { bitcoinAddress, stackedPercent, weightPercent } from '../../shared/values.ts';
import type { PoxCycle, PoxSigner, PoxStacker, PoxTransaction } from '../schemas/stacking.ts';

/** A reward cycle; amounts are in micro-STX. */
export const poxCycle = (cycle: RewardCycle): Static<typeof PoxCycle> => ({
  block_height: cycle.blockHeight,
  index_block_hash: toHex(cycle.indexHash),
  cycle_number: cycle.cycle,
  total_weight: cycle.weight,
  total_stacked_amount: cycle.stacked.toString(),
  total_signers: cycle.signers,
});

/** A signer of a reward cycle, with its share in percent. */
export function poxSigner(signer: StackingSigner, cycle: RewardCycle): Static<typeof PoxSigner> {
  const share = { signer, cycle };
  return {
    signing_key: toHex(signer.key),
    signer_address: signer.address,
    weight: signer.weight,
    stacked_amount: signer.stacked.toString(),
    weight_percent: weightPercent(share),
    stacked_amount_percent: stackedPercent(share),
    solo_stacker_count: signer.soloStackers,
    pooled_stacker_count: signer.pooledStackers,
  };
}

/** A principal that stacks with a signer in a cycle; amounts are in micro-STX. */
export const poxStacker = ({ stacker, pooled, print }: CycleStacker): Static<typeof PoxStacker> => ({
  stacker_address: stacker,
  stacked_amount: print.state.locked.toString(),
  pox_address: bitcoinAddress(print),
  stacker_type: pooled ? 'pooled' : 'solo',
});

/** A Bitcoin transaction that paid rewards, in satoshis. */
export const poxTransaction = ({
  burnBlock,
  txId,
  outputIndex,
  recipient,
  amount,
}: PoxOutput): Static<typeof PoxTransaction> => ({
  burn_block_height: burnBlock.height,
  burn_block_hash: toHex(burnBlock.hash),
  tx_id: toHex(txId),
  recipient,
  utxo_idx: outputIndex,
  amount,
});
