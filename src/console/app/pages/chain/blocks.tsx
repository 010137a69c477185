/** The newest blocks, and older ones page by page. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural } from '../../chain/format.ts';
import type { Block } from '../../chain/types.ts';
import { CostShare } from '../../ui/cost.tsx';
import { type Column, Page, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place } from '../../ui/router.ts';
import { Ago, BitcoinBlockLink, BlockLink, Count, Hash } from '../../ui/values.tsx';

export const BLOCK_COLUMNS: readonly Column<Block>[] = [
  { name: 'Height', class: 'nowrap', cell: ({ height }) => <BlockLink height={height} /> },
  {
    name: 'Hash',
    class: 'medium',
    cell: ({ hash }) => <Hash value={hash} to={pathTo('block', { id: hash })} />,
  },
  { name: 'Bitcoin block', class: 'number', cell: (block) => <BitcoinBlockLink height={block.burn_block_height} /> },
  { name: 'Tenure', class: 'number wide', cell: ({ tenure_height: tenure }) => <Count value={tenure} /> },
  { name: 'Transactions', class: 'number', cell: ({ tx_count: transactions }) => <Count value={transactions} /> },
  { name: 'Largest cost', class: 'number wide', cell: (block) => <CostShare cost={block} /> },
  { name: 'Age', class: 'number', cell: ({ block_time: at }) => <Ago at={at} /> },
];

const BLOCKS_PER_PAGE = 25;

export function Blocks() {
  const cursor = place.value.query.get('cursor');
  const query = { limit: BLOCKS_PER_PAGE, ...(cursor === null ? {} : { cursor }) };
  const blocks = useAnswer(
    `blocks ${cursor}`,
    (signal) => bodyOf(api.GET('/extended/v2/blocks', { params: { query }, signal })),
    tipVersion.value,
  );
  return (
    <Page title="Blocks" lead="Blocks of the canonical chain, newest first.">
      <Panel title="Blocks" source={`/extended/v2/blocks?limit=${BLOCKS_PER_PAGE}`}>
        <Show loaded={blocks} rows={10}>
          {({ results, total, next_cursor: newer, prev_cursor: older }) => (
            <>
              <Table
                label="Blocks"
                columns={BLOCK_COLUMNS}
                rows={results}
                keyOf={({ hash }) => hash}
                empty="No block has arrived yet."
              />
              <Pager next={older} previous={newer} total={plural(total, 'block')} />
            </>
          )}
        </Show>
      </Panel>
    </Page>
  );
}
