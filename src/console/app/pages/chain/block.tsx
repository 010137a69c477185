/** The pages of blocks: the list, and one block with its transactions, execution cost and signatures. */
import { api, bodyOf } from '../../api/api.ts';
import { tip, tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural, visible } from '../../chain/format.ts';
import type { Block as BlockObject } from '../../chain/types.ts';
import {
  BLOCKS_PER_PAGE,
  type Column,
  Facts,
  Icon,
  listQuery,
  Page,
  Pager,
  Panel,
  Show,
  Table,
} from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { server } from '../../ui/server-status.ts';
import { TransactionTable } from '../../ui/transactions.tsx';
import { Ago, BitcoinBlockLink, BlockLink, CostShare, CostTable, Count, Hash, When } from '../../ui/values.tsx';
import { ForkMark, OrphanMark } from './forks.tsx';

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
      {block.error?.status === 404 ? <OrphanMark hash={id} /> : null}
      <Show loaded={block} rows={8} missing={missingText(id, server.value.status?.index.height ?? null)}>
        {(found) => (
          <>
            <ForkMark height={found.height} />
            <BlockFacts block={found} />
            <BlockTransactions block={found} />
            <BlockSignatures hash={found.hash} />
          </>
        )}
      </Show>
    </Page>
  );
}

/** Describes a block that the server doesn't have. @param tipHeight null if the server has no block */
const missingText = (id: string, tipHeight: number | null): string =>
  tipHeight === null
    ? 'This server has no block yet.'
    : `This server has no block ${visible(id)}. Its newest block is ${count(tipHeight)}.`;

/** Renders links to the previous and the next block. */
function Neighbours({ height }: { height: number }) {
  const isTip = tip.value !== null && height >= tip.value.height;
  return (
    <nav class="row" aria-label="Neighbouring blocks">
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
    <div class="grid">
      <Panel title="Block" source={`/extended/v2/blocks/${block.hash}`}>
        <Facts
          facts={[
            ['Time', <When key="time" chain at={block.block_time} />],
            ['Transactions', count(block.tx_count)],
            ['Hash', <Hash key="hash" value={block.hash} whole copy="block hash" />],
            ['Index block hash', <Hash key="index" value={block.index_block_hash} whole copy="index block hash" />],
            ['Parent', height > 1 ? <BlockLink key="parent" height={height - 1} /> : 'None: the first block'],
            [
              'Bitcoin block',
              <span key="bitcoin">
                <BitcoinBlockLink height={block.burn_block_height} />
              </span>,
            ],
            ['Tenure', block.tenure_height >= 0 && count(block.tenure_height)],
            [
              'Miner’s Bitcoin transaction',
              <Hash key="miner" value={block.miner_txid} whole copy="Bitcoin transaction id" />,
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
  const query = listQuery();
  const path = { height_or_hash: hash };
  const transactions = useAnswer(`block transactions ${hash} ${query.cursor}`, (signal) =>
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

const PAGE_LENGTH = 20;

/** Renders the signatures of a block. @param hash of the block */
function BlockSignatures({ hash }: { hash: string }) {
  const params = { path: { height_or_hash: hash }, query: { limit: PAGE_LENGTH } };
  const signatures = useAnswer(`signatures ${hash}`, (signal) =>
    bodyOf(api.GET('/extended/v2/blocks/{height_or_hash}/signer-signatures', { params, signal })),
  );
  return (
    <Panel
      title="Signatures of signers"
      source={`/extended/v2/blocks/${hash}/signer-signatures`}
      aside={<a href={pathTo('staking')}>Signers of the cycle</a>}
    >
      <Show loaded={signatures}>
        {({ results, total }) => (
          <>
            <Table
              label="Signatures of signers"
              rows={results.map((signature, index) => ({ signature, index }))}
              keyOf={({ index }) => String(index)}
              empty="The block has no signatures: signers sign blocks since Nakamoto."
              columns={[
                { name: '#', class: 'quiet', cell: ({ index }) => index + 1 },
                {
                  name: 'Signature',
                  class: 'fill',
                  cell: ({ signature }) => <Hash value={signature} copy="signature" />,
                },
              ]}
            />
            {total > results.length ? (
              <p class="panel-head row spread small quiet">
                The first {results.length} of {plural(total, 'signature')}
              </p>
            ) : null}
          </>
        )}
      </Show>
    </Panel>
  );
}

export const BLOCK_COLUMNS: readonly Column<BlockObject>[] = [
  { name: 'Height', class: 'first nowrap', cell: ({ height }) => <BlockLink height={height} /> },
  {
    name: 'Hash',
    cell: ({ hash }) => <Hash value={hash} to={pathTo('block', { id: hash })} />,
  },
  {
    name: 'Bitcoin block',
    class: 'number',
    label: 'Bitcoin block',
    cell: (block) => <BitcoinBlockLink height={block.burn_block_height} />,
  },
  {
    name: 'Tenure',
    class: 'number wide',
    label: 'tenure',
    // The API returns -1 if the node didn't report the tenure.
    cell: ({ tenure_height: tenure }) => (tenure < 0 ? '–' : <Count value={tenure} />),
  },
  {
    name: 'Transactions',
    class: 'number',
    label: 'transactions',
    cell: ({ tx_count: transactions }) => <Count value={transactions} />,
  },
  {
    name: 'Budget used',
    title: 'Share of the execution cost that comes closest to its limit',
    class: 'number wide',
    label: 'budget used',
    cell: (block) => <CostShare cost={block} />,
  },
  { name: 'Age', class: 'number when', cell: ({ block_time: at }) => <Ago chain at={at} /> },
];

/** Renders blocks, newest first. */
export function Blocks() {
  const query = listQuery('cursor', BLOCKS_PER_PAGE);
  const blocks = useAnswer(
    `blocks ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v2/blocks', { params: { query }, signal })),
    tipVersion.value,
  );
  return (
    <Page title="Blocks" lead="Blocks of the canonical chain, newest first.">
      <Panel
        title="Blocks"
        source={`/extended/v2/blocks?limit=${BLOCKS_PER_PAGE}`}
        aside={<a href={pathTo('forks')}>Forks</a>}
      >
        <Show loaded={blocks} rows={10}>
          {({ results, total, next_cursor: newer, prev_cursor: older }) => (
            <>
              <Table
                label="Blocks"
                columns={BLOCK_COLUMNS}
                rows={results}
                keyOf={({ hash }) => hash}
                empty="No block has arrived yet."
                stacked
              />
              <Pager next={older} previous={newer} total={plural(total, 'block')} />
            </>
          )}
        </Show>
      </Panel>
    </Page>
  );
}
