/** The parts of a miner's reward, each in its column. The API returns only their sum, which can't show a swap. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { indexPath } from '../../src/store/files/database.ts';
import { openNew } from '../support/data/ingest.ts';
import { alice, block, bob, hashOf } from '../support/events/handmade.ts';

test('a reward is stored part by part', () => {
  using open = openNew();
  const reward = {
    recipient: bob.address,
    miner_address: alice.address,
    coinbase_amount: '1000',
    tx_fees_anchored: '200',
    tx_fees_streamed_confirmed: '30',
    tx_fees_streamed_produced: '4',
    from_stacks_block_hash: hashOf('the block it is for'),
    from_index_consensus_hash: hashOf('its index hash'),
  };
  open.ingest.receive(block(null, 'one', [], { matured_miner_rewards: [reward] }).event);
  using db = new Database(indexPath(open.directory), { readonly: true });
  const rows = db.query(
    'SELECT coinbase, fees_anchored, fees_streamed_confirmed, fees_streamed_produced FROM miner_rewards',
  );
  expect(rows.all()).toEqual([
    { coinbase: '1000', fees_anchored: '200', fees_streamed_confirmed: '30', fees_streamed_produced: '4' },
  ]);
});
