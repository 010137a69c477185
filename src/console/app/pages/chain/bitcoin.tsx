/** The pages of Bitcoin: blocks with their Stacks blocks and payments to stackers, and an address with its payments. */

import type { BitcoinBlock as BitcoinBlockObject } from '../../api/api.ts';
import { tip, tipVersion } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { count, plural } from '../../chain/format.ts';
import {
  BLOCKS_PER_PAGE,
  type Column,
  Copied,
  DataPanel,
  ListPanel,
  offsetQuery,
  Page,
  Panel,
  Show,
} from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Ago, BitcoinAddressLink, BitcoinBlockLink, Btc, Hash, Principal, When } from '../../ui/values.tsx';
import { BLOCK_COLUMNS, Neighbours, useHeightInPath } from './block.tsx';

export function BitcoinBlock({ id }: { id: string }) {
  const block = useGet('/extended/v2/burn-blocks/{height_or_hash}', { height_or_hash: id }, tipVersion.value);
  const newest = tip.value?.burn_block_height;
  // If no Stacks block was built on a Bitcoin block, the API doesn't return the block, but may return its payouts.
  const emptyHeight = block.error?.status === 404 && Number(id) <= (newest ?? 0) ? Number(id) : null;
  const height = block.data?.burn_block_height ?? emptyHeight;
  useHeightInPath('bitcoinBlock', id, height);
  return (
    <Page
      kind="Bitcoin block"
      title={height === null ? id : count(height)}
      aside={height === null ? null : <Neighbours page="bitcoinBlock" height={height} tip={newest} />}
    >
      <Show loaded={block} missing="The server has no Stacks block that was built on this Bitcoin block.">
        {({ burn_block_time: time, burn_block_hash: hash, burn_block_height: height, stacks_blocks: blocks }) => (
          <>
            <Panel
              title="Bitcoin block"
              source={`/extended/v2/burn-blocks/${hash}`}
              facts={[
                ['Time', <When chain time={time} />],
                ['Hash', <Hash value={hash} whole copy="Bitcoin block hash" />],
                ['Stacks blocks', count(blocks.length)],
              ]}
            />
            <StacksBlocks height={height} total={blocks.length} />
            <Payments height={height} />
          </>
        )}
      </Show>
      {emptyHeight === null ? null : <Payments height={emptyHeight} />}
    </Page>
  );
}

function StacksBlocks({ height, total }: { height: number; total: number }) {
  const params = { height_or_hash: String(height), limit: BLOCKS_PER_PAGE };
  return (
    <ListPanel
      title="Stacks blocks"
      loaded={useGet('/extended/v2/burn-blocks/{height_or_hash}/blocks', params, total)}
      aside={total > BLOCKS_PER_PAGE ? <span class="quiet">the newest {BLOCKS_PER_PAGE}</span> : null}
      columns={BLOCK_COLUMNS.filter(([name]) => name !== 'Bitcoin block')}
      keyOf={({ hash }) => hash}
      empty="No Stacks block was built on this Bitcoin block."
      stacked
    />
  );
}

type Output = { tx_id: string; utxo_idx: number; amount: string };

const outputKey = ({ tx_id, utxo_idx }: Output): string => `${tx_id} ${utxo_idx}`;

const OUTPUT_COLUMNS: readonly Column<Output>[] = [
  ['Bitcoin transaction', 'medium', ({ tx_id }) => <Hash value={tx_id} copy="Bitcoin transaction id" />],
  ['Amount', 'number', ({ amount }) => <Btc satoshis={amount} />],
];

/** Renders the payouts of miners to stackers in a Bitcoin block. */
export function Payments({ height }: { height: number }) {
  const params = { height_or_hash: String(height), limit: BLOCKS_PER_PAGE };
  const payments = useGet('/extended/v2/burn-blocks/{height_or_hash}/pox-transactions', params);
  return (
    <ListPanel
      title="Payments to stackers"
      loaded={payments}
      aside={payments.data === null ? null : <span class="quiet">{plural(payments.data.total, 'payment')}</span>}
      keyOf={outputKey}
      empty="Miners paid nothing to stackers in this block."
      columns={[
        ['Recipient', 'main', ({ recipient }) => <BitcoinAddressLink address={recipient} />],
        ...OUTPUT_COLUMNS,
      ]}
    />
  );
}

export const BITCOIN_BLOCK_COLUMNS: readonly Column<BitcoinBlockObject>[] = [
  ['Height', 'nowrap', (block) => <BitcoinBlockLink height={block.burn_block_height} />],
  ['Hash', 'medium', ({ burn_block_hash: hash }) => <Hash value={hash} to={pathTo('bitcoinBlock', { id: hash })} />],
  ['Stacks blocks', 'number', ({ stacks_blocks: blocks }) => count(blocks.length)],
  ['Age', 'number', ({ burn_block_time: time }) => <Ago chain time={time} />],
];

export const hashOfBitcoinBlock = ({ burn_block_hash: hash }: BitcoinBlockObject): string => hash;

/** Renders Bitcoin blocks, newest first. */
export const BitcoinBlocks = () => (
  <Page title="Bitcoin blocks" lead="Blocks of Bitcoin, each with the Stacks blocks that were built on it.">
    <ListPanel
      title="Bitcoin blocks"
      loaded={useGet(
        '/extended/v2/burn-blocks',
        offsetQuery('offset', BLOCKS_PER_PAGE),
        tip.value?.burn_block_height ?? 0,
      )}
      item="block"
      pager="offset"
      columns={BITCOIN_BLOCK_COLUMNS}
      keyOf={hashOfBitcoinBlock}
      empty="No Bitcoin block has arrived yet."
    />
  </Page>
);

/** Renders the page of a Bitcoin address: the payouts of Bitcoin blocks to it, and the Stacks account of the same key. */
export function BitcoinAddress({ address }: { address: string }) {
  const version = tip.value?.burn_block_height ?? 0;
  const total = useGet('/extended/v1/burnchain/rewards/{address}/total', { address }, version);
  // The search converts the address. The console has no code for that.
  const account = useGet('/stackside/v1/search', { q: address });
  const match = account.data?.results.find(({ kind, match }) => kind === 'address' && match === 'exact');
  return (
    <Page kind="Bitcoin address" title={address} heading={<Copied text={address} name="Bitcoin address" />}>
      <DataPanel
        title="Rewards"
        loaded={total}
        rows={2}
        facts={({ reward_amount: amount }) => [
          ['Paid to stackers at this address', <Btc satoshis={amount} />],
          ['Account of the same key', match === undefined ? 'none' : <Principal principal={match.id} whole />],
        ]}
      />
      <Rewards address={address} version={version} />
      <Outputs address={address} version={version} />
    </Page>
  );
}

interface ListProps {
  address: string;
  version: number;
}

const BITCOIN_BLOCK: Column<{ burn_block_height: number }> = [
  'Bitcoin block',
  '',
  ({ burn_block_height: height }) => <BitcoinBlockLink height={height} />,
];

function Rewards({ address, version }: ListProps) {
  const params = { address, ...offsetQuery('offset', BLOCKS_PER_PAGE) };
  return (
    <ListPanel
      title="Rewards by Bitcoin block"
      loaded={useGet('/extended/v1/burnchain/rewards/{address}', params, version)}
      pager="offset"
      keyOf={({ burn_block_height: height, reward_index: index }) => `${height} ${index}`}
      empty={({ offset }) =>
        offset > 0 ? 'There are no more rewards.' : 'No Bitcoin block paid a reward to this address.'
      }
      columns={[BITCOIN_BLOCK, ['Reward', 'number', ({ reward_amount: amount }) => <Btc satoshis={amount} />]]}
    />
  );
}

function Outputs({ address, version }: ListProps) {
  const params = { burnchain_address: address, ...offsetQuery('outputs', BLOCKS_PER_PAGE) };
  return (
    <ListPanel
      title="Payments of miners"
      loaded={useGet('/extended/v2/addresses/{burnchain_address}/pox-transactions', params, version)}
      item="payment"
      pager="outputs"
      keyOf={outputKey}
      empty="No miner paid to this address."
      columns={[BITCOIN_BLOCK, ...OUTPUT_COLUMNS]}
    />
  );
}
