/** The newest blocks as they come; those that a fork took back stay for a while, struck out. */
import { useRef } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { mergeBlocks, type SeenBlock } from '../../chain/block-list.ts';
import type { Block } from '../../chain/types.ts';
import { Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Badge, Hash } from '../../ui/values.tsx';
import { BLOCK_COLUMNS } from './blocks.tsx';

const NEWEST = 10;
export function NewestBlocks() {
  const seen = useRef<SeenBlock[]>([]);
  const blocks = useAnswer(
    'newest blocks',
    async (signal) => {
      const params = { query: { limit: NEWEST } };
      const { results } = await bodyOf(api.GET('/extended/v2/blocks', { params, signal }));
      seen.current = mergeBlocks(seen.current, results);
      return seen.current;
    },
    tipVersion.value,
  );
  return (
    <Panel
      title="Newest blocks"
      source={`/extended/v2/blocks?limit=${NEWEST}`}
      aside={<a href={pathTo('blocks')}>All</a>}
    >
      <Show loaded={blocks} rows={10}>
        {(rows) => (
          <Table
            label="Newest blocks"
            columns={BLOCK_COLUMNS.map((column) => (column.name === 'Hash' ? HASH : column))}
            rows={rows}
            keyOf={({ index_block_hash: hash }) => hash}
            rowClass={({ gone, fresh }) => (gone ? 'gone' : fresh ? 'fresh' : '')}
            empty="No block has arrived yet."
          />
        )}
      </Show>
    </Panel>
  );
}

const HASH = {
  name: 'Hash',
  class: 'medium',
  cell: (block: Block) =>
    'gone' in block && block.gone === true ? (
      <Badge tone="wait">replaced by a fork</Badge>
    ) : (
      <Hash value={block.hash} to={pathTo('block', { id: block.hash })} />
    ),
};
