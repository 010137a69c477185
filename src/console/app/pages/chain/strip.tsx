/** The strip of blocks: the expected next blocks, and the newest blocks in tenures with their forks. */
import { useRef } from 'preact/hooks';
import { tipVersion } from '../../api/live.ts';
import { type Loaded, useGet } from '../../api/use-answer.ts';
import {
  blockTitle,
  feeLevel,
  fillOf,
  groupByTenure,
  type NewestBlocks,
  noBlockText,
  type ProjectedBlock,
  type Projection,
  type StripBlock,
} from '../../chain/blocks.ts';
import { bytes, count, plural, stxText } from '../../chain/format.ts';
import { Show } from '../../ui/parts.tsx';
import { pathTo, url } from '../../ui/router.ts';
import { Ago } from '../../ui/values.tsx';

/** Number of mined blocks, and maximum number of expected blocks. */
const [NEWEST, MAX_EXPECTED] = [20, 3];

export const NEWEST_BLOCKS = `/stackside/v1/blocks/newest?limit=${NEWEST}`;

/** Renders the strip. The arrow keys move from block to block. */
export function BlockStrip({ expected }: { expected: Loaded<Projection> }) {
  const loaded = useGet('/stackside/v1/blocks/newest', { limit: NEWEST }, tipVersion.value);
  return (
    <div class="strip-frame">
      <Show loaded={loaded}>{(newest) => <Strip newest={newest} projection={expected.data} />}</Show>
    </div>
  );
}

function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const tiles = [...event.currentTarget.querySelectorAll<HTMLElement>('a.tile')];
  const index = tiles.findIndex((tile) => tile.matches(':focus'));
  if (step === undefined || index < 0) return;
  event.preventDefault();
  tiles[index + step]?.focus();
}

/** @param projection null until it is loaded */
function Strip({ newest, projection }: { newest: NewestBlocks; projection: Projection | null }) {
  // Whether each block arrived while the page was open, by hash.
  const seen = useRef(new Map<string, boolean>());
  const isFirst = seen.current.size === 0;
  for (const { index_block_hash: hash } of newest.blocks) {
    if (!seen.current.has(hash)) seen.current.set(hash, !isFirst);
  }
  const next = projection?.blocks.slice(0, MAX_EXPECTED) ?? [];
  const largest = Math.max(...newest.blocks.map(({ size }) => size), ...next.map(({ size }) => size));
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys only add to the links inside
    <div class="strip" onKeyDown={moveFocus}>
      <ol class="strip-expected" aria-label="Expected blocks">
        {next.length === 0 ? <li class="tile quiet">{projection === null ? null : noBlockText(projection)}</li> : null}
        {next.toReversed().map((block) => (
          <li key={block.block}>
            <Expected block={block} largest={largest} />
          </li>
        ))}
      </ol>
      <ol aria-label="Newest blocks">
        {groupByTenure(newest).map(({ bitcoinHeight, entries }) => (
          <li key={bitcoinHeight}>
            <a class="tenure-name" href={pathTo('bitcoinBlock', { id: bitcoinHeight })}>
              Bitcoin {count(bitcoinHeight)}
            </a>
            <ol>
              {entries.map(({ block, orphans }) => (
                <li key={block.index_block_hash}>
                  <Mined block={block} largest={largest} isFresh={seen.current.get(block.index_block_hash) === true} />
                  {orphans.map(({ index_block_hash: hash, height }) => (
                    <a key={hash} class="orphan" href={pathTo('fork', { hash })} title={`Block ${hash} of a fork`}>
                      <s>{count(height)}</s> replaced
                    </a>
                  ))}
                </li>
              ))}
            </ol>
          </li>
        ))}
      </ol>
    </div>
  );
}

const tileStyle = (size: number, largest: number, medianFee: string | null) => ({
  '--full': `${fillOf(size, largest)}%`,
  '--strength': `${16 + 7 * (medianFee === null ? 0 : feeLevel(medianFee))}%`,
});

interface TileProps<Block> {
  block: Block;
  /** Size of the largest block of the strip. */
  largest: number;
}

const Mined = ({ block, largest, isFresh }: TileProps<StripBlock> & { isFresh: boolean }) => (
  <a
    class={isFresh ? 'tile fresh' : 'tile'}
    href={pathTo('block', { id: block.height })}
    style={tileStyle(block.size, largest, block.median_fee)}
  >
    <strong>{count(block.height)}</strong>
    <span>{plural(block.transactions, 'transaction')}</span>
    <span>{block.median_fee === null ? 'no fees' : `~${stxText(block.median_fee)}`}</span>
    <span class="tile-foot row spread">
      {bytes(block.size)} <Ago chain time={block.time} />
    </span>
  </a>
);

const Expected = ({ block, largest }: TileProps<ProjectedBlock>) => (
  <a
    class="tile wait"
    href={pathTo('mempool', { block: block.block })}
    style={tileStyle(block.size, largest, block.fees.median)}
    aria-current={Number(url.value.query.get('block')) === block.block ? 'true' : undefined}
  >
    <strong>{blockTitle(block.block)}</strong>
    <span>{plural(block.transactions, 'transaction')}</span>
    <span>~{stxText(block.fees.median)}</span>
    <span class="tile-foot row spread">{bytes(block.size)}</span>
  </a>
);

/** Renders the legend of the strip. */
export const StripLegend = () => (
  <p class="panel-body quiet tiny">
    The fuller a block, the more bytes it has; the stronger its colour, the higher its median fee.{' '}
    <span class="wait">■</span> expected <span class="accent">■</span> mined
  </p>
);
