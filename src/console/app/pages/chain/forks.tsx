/** The pages of forks: the list, and a page per fork with its branches and transactions. */

import type { Answer } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { branchRows, FATES, orphanedBlock } from '../../chain/blocks.ts';
import { count } from '../../chain/format.ts';
import { DROP_REASONS, kindOf } from '../../chain/transaction.ts';
import {
  type Column,
  Commas,
  Empty,
  Footer,
  ListPanel,
  Page,
  Panel,
  Show,
  TablePanel,
  useList,
} from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Ago, Badge, BitcoinBlockLink, BlockLink, Hash, TxLink, When } from '../../ui/values.tsx';

type ListedFork = Answer<'/stackside/v1/forks'>['results'][number];
type ForkObject = Answer<'/stackside/v1/forks/{hash}'>;

/** Returns the heights of a fork: `#20`, or `#20 to #22`. */
const heights = ({ height, top_height: top }: Pick<ListedFork, 'height' | 'top_height'>): string =>
  height === top ? count(height) : `${count(height)} to ${count(top)}`;

const COLUMNS: readonly Column<ListedFork>[] = [
  ['Heights', 'first', (fork) => <a href={pathTo('fork', { hash: fork.index_block_hash })}>{heights(fork)}</a>],
  ['Blocks', 'number named', ({ blocks }) => count(blocks)],
  ['On the chain', 'named', ({ was_canonical: was }) => wasCanonicalText(was)],
  ['First block', 'wide named', ({ index_block_hash: hash }) => <Hash value={hash} />],
  ['Time', 'number when', ({ time }) => (time === null ? '–' : <Ago chain time={time} />)],
];

export const Forks = () => (
  <Page title="Forks" lead="Branches of blocks that are not on the chain, as this server saw them.">
    <ListPanel
      title="Forks"
      loaded={useList('/stackside/v1/forks', {})}
      columns={COLUMNS}
      keyOf={({ index_block_hash: hash }) => hash}
      empty="No fork was seen."
      stacked
    />
  </Page>
);

/** Renders the fork of an orphaned block. @param hash of any of its blocks */
export function Fork({ hash }: { hash: string }) {
  const loaded = useGet('/stackside/v1/forks/{hash}', { hash }, tipVersion.value);
  return (
    <Page kind="Fork" title={loaded.data === null ? hash : heights(loaded.data)}>
      <Show loaded={loaded} rows={8} missing={`This server has no orphaned block ${hash}.`}>
        {(fork) => (
          <>
            <Branches fork={fork} />
            <OrphanedTransactions fork={fork} />
          </>
        )}
      </Show>
    </Page>
  );
}

function wasCanonicalText(was: boolean | null): string {
  if (was === null) return 'Unknown: the events are no longer stored';
  return was ? 'Yes: the chain was reorganized' : 'Never: another block came first';
}

function Branches({ fork }: { fork: ForkObject }) {
  const source = `/stackside/v1/forks/${fork.index_block_hash}`;
  return (
    <>
      <Panel
        title="Fork"
        source={source}
        facts={[
          [
            'Last common block',
            fork.height > 1 ? <BlockLink height={fork.height - 1} /> : 'None: the chain begins here',
          ],
          ['Orphaned blocks', count(fork.blocks)],
          ['On the chain', wasCanonicalText(fork.was_canonical)],
          ['Time', fork.time !== null && <When chain time={fork.time} />],
        ]}
      />
      <TablePanel
        title="Branches"
        source={source}
        label="Branches by height"
        rows={branchRows(fork)}
        keyOf={({ height, index }) => `${height} ${index}`}
        columns={[
          ['Height', 'number', ({ height }) => count(height)],
          [
            'Orphaned',
            '',
            ({ orphaned }) =>
              orphaned === null ? (
                '–'
              ) : (
                <>
                  <Hash value={orphaned.index_block_hash} />{' '}
                  {orphaned.was_canonical ? <Badge tone="wait">was on the chain</Badge> : null}
                </>
              ),
          ],
          [
            'Canonical',
            '',
            ({ canonical }) =>
              canonical === null ? (
                '–'
              ) : (
                <Hash value={canonical.index_block_hash} to={pathTo('block', { id: canonical.index_block_hash })} />
              ),
          ],
        ]}
      />
    </>
  );
}

const OrphanedTransactions = ({ fork }: { fork: ForkObject }) => (
  <TablePanel
    title="Transactions of the orphaned blocks"
    source={`/stackside/v1/forks/${fork.index_block_hash}`}
    footer={fork.is_whole ? null : <Footer>The fork has more blocks or transactions than are shown.</Footer>}
    rows={fork.transactions}
    keyOf={({ tx_id: id, orphaned_in: { index_block_hash: hash } }) => `${hash} ${id}`}
    empty="The orphaned blocks have no transactions."
    stacked
    columns={[
      ['Transaction', 'first', ({ tx_id: id }) => <TxLink id={id} />],
      ['Type', '', ({ type }) => kindOf(type as Parameters<typeof kindOf>[0])],
      ['Orphaned block', 'number named', ({ orphaned_in: { height } }) => count(height)],
      [
        'Now',
        'named',
        ({ fate, block_height: height, status }) => (
          <>
            <Badge tone={FATES[fate].tone}>{FATES[fate].words}</Badge>{' '}
            {height === null ? null : <BlockLink height={height} />}
            {fate === 'dropped' ? (DROP_REASONS[status ?? ''] ?? null) : null}
          </>
        ),
      ],
    ]}
  />
);

/** Maximum number of forks at or below a height to search for one with a block at the height. */
const NEAREST = 5;

/** Renders a note on the page of a block, if forks have other blocks at its height. */
export function ForkMark({ height }: { height: number }) {
  const forks = useGet('/stackside/v1/forks', { limit: NEAREST, to_height: height }, tipVersion.value);
  const forksHere = forks.data?.results.filter(({ top_height: top }) => top >= height) ?? [];
  if (forksHere.length === 0) return null;
  return (
    <p class="note wait">
      Forks with another block of this height:{' '}
      <Commas
        items={forksHere.map(({ index_block_hash: hash }, index) => (
          <a key={hash} href={pathTo('fork', { hash })}>
            fork {index + 1}
          </a>
        ))}
      />
      .
    </p>
  );
}

/** Renders the page of an orphaned block. @param hash either of its hashes, or a height @param missing text for no block */
export const OrphanedBlock = ({ hash, missing }: { hash: string; missing: string }) =>
  hash.length < 64 ? <Empty>{missing}</Empty> : <ByHash hash={hash} missing={missing} />;

const ByHash = ({ hash, missing }: { hash: string; missing: string }) => (
  <Show loaded={useGet('/stackside/v1/forks/{hash}', { hash }, tipVersion.value)} rows={8} missing={missing}>
    {(fork) => <OrphanFacts fork={fork} hash={hash} />}
  </Show>
);

function OrphanFacts({ fork, hash }: { fork: ForkObject; hash: string }) {
  const block = orphanedBlock(fork, hash);
  return (
    <>
      <p class="note wait" role="status">
        This block is orphaned: it is not on the chain. See <a href={pathTo('fork', { hash })}>its fork</a>.
      </p>
      {block === null ? null : (
        <Panel
          title="Block"
          source={`/stackside/v1/forks/${fork.index_block_hash}`}
          facts={[
            ['Height', count(block.height)],
            ['Was on the chain', wasCanonicalText(block.was_canonical)],
            ['Hash', <Hash value={block.hash} whole copy="block hash" />],
            ['Index block hash', <Hash value={block.index_block_hash} whole copy="index block hash" />],
            ['Bitcoin block', <BitcoinBlockLink height={block.burn_block_height} />],
            ['Block of the chain at this height', block.replacement && <BlockLink height={block.height} />],
          ]}
        />
      )}
    </>
  );
}
