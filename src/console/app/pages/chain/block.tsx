/** The pages of blocks: the list, and one block with its transactions, execution cost and signatures. */

import { useEffect } from 'preact/hooks';
import type { Block as BlockObject, RequestError } from '../../api/api.ts';
import { tip, tipVersion } from '../../api/live.ts';
import { mapLoaded, useGet } from '../../api/use-answer.ts';
import { count, visible } from '../../chain/format.ts';
import { BLOCKS_PER_PAGE, type Column, Icon, ListPanel, listQuery, Page, Panel, Show } from '../../ui/parts.tsx';
import { go, pathTo } from '../../ui/router.ts';
import { server } from '../../ui/server-status.tsx';
import { COLUMNS_IN_BLOCK, idOf } from '../../ui/transactions.tsx';
import { Ago, BitcoinBlockLink, BlockLink, CostShare, CostTable, Hash, When } from '../../ui/values.tsx';
import { ForkMark, OrphanedBlock } from './forks.tsx';

/** Replaces `latest` in the page's path by the block's height, so that the page keeps its block when another one arrives. */
export function useHeightInPath(page: 'block' | 'bitcoinBlock', id: string, height: number | null): void {
  useEffect(() => {
    if (id === 'latest' && height !== null) go(pathTo(page, { id: height }), { replace: true });
  }, [page, id, height]);
}

export function Block({ id }: { id: string }) {
  const loaded = useGet('/extended/v2/blocks/{height_or_hash}', { height_or_hash: id }, tipVersion.value);
  const height = loaded.data?.height ?? null;
  useHeightInPath('block', id, height);
  return (
    <Page
      kind="Block"
      title={height === null ? id : count(height)}
      aside={height === null ? null : <Neighbours page="block" height={height} tip={tip.value?.block_height} />}
    >
      {loaded.data === null && loaded.error?.status === 404 ? (
        <OrphanedBlock hash={id} missing={missingText(id, loaded.error)} />
      ) : (
        <Show loaded={loaded} rows={8}>
          {(block) => (
            <>
              <ForkMark height={block.height} />
              <BlockFacts block={block} />
              <BlockTransactions hash={block.hash} total={block.tx_count} />
              <BlockSignatures hash={block.hash} />
            </>
          )}
        </Show>
      )}
    </Page>
  );
}

function missingText(id: string, error: RequestError): string {
  if (error.isBeforeHistory) return error.message;
  const tipHeight = server.value.status?.index.height ?? null;
  return tipHeight === null
    ? 'This server has no block yet.'
    : `This server has no block ${visible(id)}. Its newest block is ${count(tipHeight)}.`;
}

interface NeighboursProps {
  page: 'block' | 'bitcoinBlock';
  height: number;
  /** Height of the newest block; undefined until it was read. */
  tip: number | undefined;
}

/** Renders links to the previous and the next block. */
export const Neighbours = ({ page, height, tip: newest }: NeighboursProps) => (
  <nav class="row" aria-label="Neighbouring blocks">
    {height <= 1 ? null : (
      <a class="button" rel="prev" href={pathTo(page, { id: height - 1 })}>
        <Icon name="left" /> Previous
      </a>
    )}
    {newest !== undefined && height >= newest ? (
      <span class="button disabled">Newest block</span>
    ) : (
      <a class="button" rel="next" href={pathTo(page, { id: height + 1 })}>
        Next <Icon name="right" />
      </a>
    )}
  </nav>
);

function BlockFacts({ block }: { block: BlockObject }) {
  const { height } = block;
  const source = `/extended/v2/blocks/${block.hash}`;
  return (
    <div class="grid">
      <Panel
        title="Block"
        source={source}
        facts={[
          ['Time', <When chain time={block.block_time} />],
          ['Transactions', count(block.tx_count)],
          ['Hash', <Hash value={block.hash} whole copy="block hash" />],
          ['Index block hash', <Hash value={block.index_block_hash} whole copy="index block hash" />],
          ['Parent', height > 1 ? <BlockLink height={height - 1} /> : 'None: the first block'],
          ['Bitcoin block', <BitcoinBlockLink height={block.burn_block_height} />],
          ['Tenure', block.tenure_height >= 0 && count(block.tenure_height)],
          ['Miner’s Bitcoin transaction', <Hash value={block.miner_txid} whole copy="Bitcoin transaction id" />],
        ]}
      />
      <Panel title="Execution cost" source={source}>
        <CostTable cost={block} />
      </Panel>
    </div>
  );
}

function BlockTransactions({ hash, total }: { hash: string; total: number }) {
  const loaded = useGet('/extended/v3/blocks/{height_or_hash}/transactions', { height_or_hash: hash, ...listQuery() });
  return (
    <ListPanel
      title="Transactions"
      label="Transactions of the block"
      loaded={mapLoaded(loaded, (page) => ({ ...page, total }))}
      item="transaction"
      columns={COLUMNS_IN_BLOCK}
      keyOf={idOf}
      empty="The block has no transactions."
      stacked
    />
  );
}

function BlockSignatures({ hash }: { hash: string }) {
  const params = { height_or_hash: hash, limit: 20 };
  const loaded = useGet('/extended/v2/blocks/{height_or_hash}/signer-signatures', params);
  return (
    <ListPanel
      title="Signatures of signers"
      loaded={mapLoaded(loaded, ({ results, total }) => ({
        total,
        results: results.map((signature, index) => ({ signature, index })),
      }))}
      aside={<a href={pathTo('staking')}>Signers of the cycle</a>}
      item="signature"
      keyOf={({ index }) => String(index)}
      empty="The block has no signatures: signers sign blocks since Nakamoto."
      columns={[
        ['#', 'quiet', ({ index }) => index + 1],
        ['Signature', 'fill', ({ signature }) => <Hash value={signature} copy="signature" />],
      ]}
    />
  );
}

export const BLOCK_COLUMNS: readonly Column<BlockObject>[] = [
  ['Height', 'first nowrap', ({ height }) => <BlockLink height={height} />],
  ['Hash', '', ({ hash }) => <Hash value={hash} to={pathTo('block', { id: hash })} />],
  [
    'Bitcoin block',
    'number named',
    (block) => <BitcoinBlockLink height={block.burn_block_height} />,
    { label: 'Bitcoin block' },
  ],
  ['Tenure', 'number wide named', ({ tenure_height: tenure }) => (tenure < 0 ? '–' : count(tenure))],
  ['Transactions', 'number named', ({ tx_count: transactions }) => count(transactions)],
  [
    'Budget used',
    'number wide named',
    (block) => <CostShare cost={block} />,
    { title: 'Share of the execution cost that comes closest to its limit' },
  ],
  ['Age', 'number when', ({ block_time: time }) => <Ago chain time={time} />],
];

/** Renders blocks, newest first. */
export const Blocks = () => (
  <Page title="Blocks" lead="Blocks of the canonical chain, newest first.">
    <ListPanel
      title="Blocks"
      loaded={useGet('/extended/v2/blocks', listQuery('cursor', BLOCKS_PER_PAGE), tipVersion.value)}
      aside={<a href={pathTo('forks')}>Forks</a>}
      item="block"
      columns={BLOCK_COLUMNS}
      keyOf={({ hash }) => hash}
      empty="No block has arrived yet."
      stacked
    />
  </Page>
);
