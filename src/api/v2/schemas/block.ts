import { Type } from '@sinclair/typebox';
import { Hash, Height, IsoTime, UnixTime } from '../../shared/values.ts';

const seconds = Type.Number({ minimum: 0 });

/** Mean seconds between blocks. */
export const AverageTimes = Type.Object(
  {
    last_1h: seconds,
    last_24h: seconds,
    last_7d: seconds,
    last_30d: seconds,
  },
  { $id: 'AverageBlockTimes' },
);

export const BurnBlock = Type.Object(
  {
    burn_block_time: UnixTime,
    burn_block_time_iso: IsoTime,
    burn_block_hash: Hash,
    burn_block_height: Height,
    stacks_blocks: Type.Array(Hash, {
      description: 'Hashes of the blocks anchored to the Bitcoin block, highest first',
    }),
    avg_block_time: Type.Integer({
      description: 'Mean number of seconds between these blocks; 0 if there is only one',
    }),
    total_tx_count: Type.Integer({ minimum: 0, description: 'Number of transactions in these blocks' }),
  },
  { $id: 'BurnBlock' },
);
