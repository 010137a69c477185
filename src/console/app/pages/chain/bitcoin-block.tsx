/** The pages of Bitcoin blocks: the list, and one block with its Stacks blocks and payments to stackers. */
import { api, bodyOf } from '../../api/api.ts';
import { tip, tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural } from '../../chain/format.ts';
import type { BitcoinBlock as BitcoinBlockObject } from '../../chain/types.ts';
import { BLOCKS_PER_PAGE, type Column, Facts, Icon, Page, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place } from '../../ui/router.ts';
import { Ago, BitcoinAddressLink, BitcoinBlockLink, Btc, Count, Hash, When } from '../../ui/values.tsx';
import { BLOCK_COLUMNS } from './block.tsx';

export function BitcoinBlock({ id }: { id: string }) {
  const path = { height_or_hash: id };
  const block = useAnswer(
    `bitcoin block ${id}`,
    (signal) => bodyOf(api.GET('/extended/v2/burn-blocks/{height_or_hash}', { params: { path }, signal })),
    tipVersion.value,
  );
  const burnBlock = block.data;
  // If no Stacks block was built on a Bitcoin block, the API doesn't return the block, but may return its payouts.
  const isPast = Number(id) <= (tip.value?.burnBlockHeight ?? 0);
  const without = block.error?.status === 404 && isPast ? Number(id) : null;
  const height = burnBlock?.burn_block_height ?? without;
  return (
    <Page
      kind="Bitcoin block"
      title={height === null ? id : count(height)}
      beside={height === null ? null : <Neighbours height={height} />}
    >
      <Show loaded={block} missing={NO_STACKS_BLOCK}>
        {({ burn_block_time: time, burn_block_hash: hash, burn_block_height: height, stacks_blocks: blocks }) => (
          <>
            <Panel title="Bitcoin block" source={`/extended/v2/burn-blocks/${hash}`}>
              <Facts
                facts={[
                  ['Time', <When key="time" chain at={time} />],
                  ['Hash', <Hash key="hash" value={hash} whole copy="Bitcoin block hash" />],
                  ['Stacks blocks', count(blocks.length)],
                ]}
              />
            </Panel>
            <StacksBlocks height={height} total={blocks.length} />
            <Payments height={height} />
          </>
        )}
      </Show>
      {without === null ? null : <Payments height={without} />}
    </Page>
  );
}

const NO_STACKS_BLOCK = 'The server has no Stacks block that was built on this Bitcoin block.';

function Neighbours({ height }: { height: number }) {
  const isTip = tip.value !== null && height >= tip.value.burnBlockHeight;
  return (
    <nav class="row" aria-label="Neighbouring Bitcoin blocks">
      <a class="button" rel="prev" href={pathTo('bitcoinBlock', { id: height - 1 })}>
        <Icon name="left" /> Previous
      </a>
      {isTip ? (
        <span class="button disabled">Newest block</span>
      ) : (
        <a class="button" rel="next" href={pathTo('bitcoinBlock', { id: height + 1 })}>
          Next <Icon name="right" />
        </a>
      )}
    </nav>
  );
}

function StacksBlocks({ height, total }: { height: number; total: number }) {
  const params = { path: { height_or_hash: String(height) }, query: { limit: BLOCKS_PER_PAGE } };
  const blocks = useAnswer(
    `blocks of ${height}`,
    (signal) => bodyOf(api.GET('/extended/v2/burn-blocks/{height_or_hash}/blocks', { params, signal })),
    total,
  );
  return (
    <Panel
      title="Stacks blocks"
      source={`/extended/v2/burn-blocks/${height}/blocks`}
      aside={total > BLOCKS_PER_PAGE ? <span class="quiet">the newest {BLOCKS_PER_PAGE}</span> : null}
    >
      <Show loaded={blocks}>
        {({ results }) => (
          <Table
            label="Stacks blocks"
            columns={BLOCK_COLUMNS.filter(({ name }) => name !== 'Bitcoin block')}
            rows={results}
            keyOf={({ hash }) => hash}
            empty="No Stacks block was built on this Bitcoin block."
            stacked
          />
        )}
      </Show>
    </Panel>
  );
}

/** Renders the payouts of miners to stackers in a Bitcoin block. */
export function Payments({ height }: { height: number }) {
  const params = { path: { height_or_hash: String(height) }, query: { limit: BLOCKS_PER_PAGE } };
  const payments = useAnswer(`payments of ${height}`, (signal) =>
    bodyOf(api.GET('/extended/v2/burn-blocks/{height_or_hash}/pox-transactions', { params, signal })),
  );
  return (
    <Panel
      title="Payments to stackers"
      source={`/extended/v2/burn-blocks/${height}/pox-transactions`}
      aside={payments.data === null ? null : <span class="quiet">{plural(payments.data.total, 'payment')}</span>}
    >
      <Show loaded={payments}>
        {({ results }) => (
          <Table
            label="Payments to stackers"
            rows={results}
            keyOf={({ tx_id, utxo_idx }) => `${tx_id} ${utxo_idx}`}
            empty="Miners paid nothing to stackers in this block."
            columns={[
              { name: 'Recipient', class: 'main', cell: ({ recipient }) => <BitcoinAddressLink address={recipient} /> },
              {
                name: 'Bitcoin transaction',
                class: 'medium',
                cell: ({ tx_id }) => <Hash value={tx_id} copy="Bitcoin transaction id" />,
              },
              { name: 'Amount', class: 'number', cell: ({ amount }) => <Btc satoshis={amount} /> },
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}

export const BITCOIN_BLOCK_COLUMNS: readonly Column<BitcoinBlockObject>[] = [
  { name: 'Height', class: 'nowrap', cell: (block) => <BitcoinBlockLink height={block.burn_block_height} /> },
  {
    name: 'Hash',
    class: 'medium',
    cell: ({ burn_block_hash: hash }) => <Hash value={hash} to={pathTo('bitcoinBlock', { id: hash })} />,
  },
  { name: 'Stacks blocks', class: 'number', cell: ({ stacks_blocks: blocks }) => <Count value={blocks.length} /> },
  { name: 'Age', class: 'number', cell: ({ burn_block_time: at }) => <Ago chain at={at} /> },
];

/** Renders Bitcoin blocks, newest first. */
export function BitcoinBlocks() {
  const offset = Math.max(0, Number(place.value.query.get('offset')) || 0);
  const blocks = useAnswer(
    `bitcoin blocks ${offset}`,
    (signal) =>
      bodyOf(api.GET('/extended/v2/burn-blocks', { params: { query: { limit: BLOCKS_PER_PAGE, offset } }, signal })),
    tip.value?.burnBlockHeight ?? 0,
  );
  const cursorAt = (at: number) => (at <= 0 ? '' : String(at));
  return (
    <Page title="Bitcoin blocks" lead="Blocks of Bitcoin, each with the Stacks blocks that were built on it.">
      <Panel title="Bitcoin blocks" source="/extended/v2/burn-blocks">
        <Show loaded={blocks} rows={10}>
          {({ results, total }) => (
            <>
              <Table
                label="Bitcoin blocks"
                columns={BITCOIN_BLOCK_COLUMNS}
                rows={results}
                keyOf={({ burn_block_hash: hash }) => hash}
                empty="No Bitcoin block has arrived yet."
              />
              <Pager
                name="offset"
                next={offset + BLOCKS_PER_PAGE < total ? cursorAt(offset + BLOCKS_PER_PAGE) : null}
                previous={offset > 0 ? cursorAt(offset - BLOCKS_PER_PAGE) : null}
                total={plural(total, 'block')}
              />
            </>
          )}
        </Show>
      </Panel>
    </Page>
  );
}
