/** One block: where it stands in the chain, who signed it, what it cost and its transactions. */
import { api, bodyOf } from '../../api/api.ts';
import { tip, tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural } from '../../chain/format.ts';
import type { Block as BlockObject } from '../../chain/types.ts';
import { CostTable } from '../../ui/cost.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Facts, Page, Pager, Panel, Show } from '../../ui/parts.tsx';
import { pathTo, place } from '../../ui/router.ts';
import { TransactionTable } from '../../ui/transactions.tsx';
import { BitcoinBlockLink, BlockLink, Hash, When } from '../../ui/values.tsx';
import { BlockSignatures } from './block-signatures.tsx';

const TRANSACTIONS_PER_PAGE = 25;

export function Block({ id }: { id: string }) {
  const params = { path: { height_or_hash: id } };
  const block = useAnswer(
    `block ${id}`,
    (signal) => bodyOf(api.GET('/extended/v2/blocks/{height_or_hash}', { params, signal })),
    tipVersion.value,
  );
  const title = block.data === null ? id : count(block.data.height);
  return (
    <Page kind="Block" title={title} beside={block.data === null ? null : <Neighbours height={block.data.height} />}>
      <Show loaded={block} rows={8}>
        {(found) => (
          <>
            <BlockFacts block={found} />
            <BlockTransactions block={found} />
            <BlockSignatures hash={found.hash} />
          </>
        )}
      </Show>
    </Page>
  );
}

/** Links to the blocks below and above. */
function Neighbours({ height }: { height: number }) {
  const isTip = tip.value !== null && height >= tip.value.height;
  return (
    <nav class="beside" aria-label="Neighbouring blocks">
      {height <= 1 ? null : (
        <a class="button" rel="prev" href={pathTo('block', { id: height - 1 })}>
          <Icon name="left" /> Previous
        </a>
      )}
      {isTip ? (
        <span class="button disabled">Newest block</span>
      ) : (
        <a class="button" rel="next" href={pathTo('block', { id: height + 1 })}>
          Next <Icon name="right" />
        </a>
      )}
    </nav>
  );
}

function BlockFacts({ block }: { block: BlockObject }) {
  const { height } = block;
  return (
    <div class="columns">
      <Panel title="Block" source={`/extended/v2/blocks/${block.hash}`}>
        <Facts
          facts={[
            ['Time', <When key="time" at={block.block_time} />],
            ['Transactions', count(block.tx_count)],
            ['Hash', <Hash key="hash" value={block.hash} copy="block hash" />],
            ['Index block hash', <Hash key="index" value={block.index_block_hash} copy="index block hash" />],
            ['Parent', height > 1 ? <BlockLink key="parent" height={height - 1} /> : 'None: the first block'],
            [
              'Bitcoin block',
              <span key="bitcoin">
                <BitcoinBlockLink height={block.burn_block_height} />
              </span>,
            ],
            ['Tenure', count(block.tenure_height)],
            [
              'Miner’s Bitcoin transaction',
              <Hash key="miner" value={block.miner_txid} copy="Bitcoin transaction id" />,
            ],
          ]}
        />
      </Panel>
      <Panel title="Execution cost" source={`/extended/v2/blocks/${block.hash}`}>
        <CostTable cost={block} />
      </Panel>
    </div>
  );
}

function BlockTransactions({ block: { hash, tx_count: total } }: { block: BlockObject }) {
  const cursor = place.value.query.get('cursor');
  const query = { limit: TRANSACTIONS_PER_PAGE, ...(cursor === null ? {} : { cursor }) };
  const path = { height_or_hash: hash };
  const transactions = useAnswer(`block transactions ${hash} ${cursor}`, (signal) =>
    bodyOf(api.GET('/extended/v3/blocks/{height_or_hash}/transactions', { params: { path, query }, signal })),
  );
  return (
    <Panel title="Transactions" source={`/extended/v3/blocks/${hash}/transactions`}>
      <Show loaded={transactions} rows={Math.min(total, 10)}>
        {({ results, cursor: { next, previous } }) => (
          <>
            <TransactionTable
              label="Transactions of the block"
              transactions={results}
              empty="The block has no transactions."
              withBlock={false}
            />
            <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
          </>
        )}
      </Show>
    </Panel>
  );
}
