/** Bitcoin blocks that the chain was built on. */
import { api, bodyOf } from '../../api/api.ts';
import { tip } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural } from '../../chain/format.ts';
import type { BitcoinBlock as BitcoinBlockObject } from '../../chain/types.ts';
import { type Column, Page, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place } from '../../ui/router.ts';
import { Ago, BitcoinBlockLink, Count, Hash } from '../../ui/values.tsx';

export const BITCOIN_BLOCK_COLUMNS: readonly Column<BitcoinBlockObject>[] = [
  { name: 'Height', class: 'nowrap', cell: (block) => <BitcoinBlockLink height={block.burn_block_height} /> },
  {
    name: 'Hash',
    class: 'medium',
    cell: ({ burn_block_hash: hash }) => <Hash value={hash} to={pathTo('bitcoinBlock', { id: hash })} />,
  },
  { name: 'Stacks blocks', class: 'number', cell: ({ stacks_blocks: blocks }) => <Count value={blocks.length} /> },
  { name: 'Age', class: 'number', cell: ({ burn_block_time: at }) => <Ago at={at} /> },
];

const PER_PAGE = 20;

export function BitcoinBlocks() {
  const offset = Math.max(0, Number(place.value.query.get('offset')) || 0);
  const blocks = useAnswer(
    `bitcoin blocks ${offset}`,
    (signal) => bodyOf(api.GET('/extended/v2/burn-blocks', { params: { query: { limit: PER_PAGE, offset } }, signal })),
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
                next={offset + PER_PAGE < total ? cursorAt(offset + PER_PAGE) : null}
                previous={offset > 0 ? cursorAt(offset - PER_PAGE) : null}
                total={plural(total, 'block')}
              />
            </>
          )}
        </Show>
      </Panel>
    </Page>
  );
}
