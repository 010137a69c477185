/** The answer of a command that steers a devnet, as one line for people. */

/** The parts of the answers that the line shows. */
interface Answer {
  tip?: Block;
  block?: Block;
  blocks?: readonly Block[];
  bitcoin_blocks?: readonly unknown[];
  orphaned?: readonly unknown[];
  pending?: readonly unknown[];
  snapshots?: readonly { name: string }[];
  tx_id?: string | null;
  replaced?: string;
}

interface Block {
  height: number;
  index_block_hash: string;
  time: number;
}

const counted = (items: readonly unknown[] | undefined, noun: string): string[] =>
  items === undefined || items.length === 0 ? [] : [`${items.length} ${noun}${items.length === 1 ? '' : 's'}`];

/** Returns one line: the tip's height, time and id, and what the command made. */
export function devnetSummary(answer: object): string {
  const {
    tip,
    block,
    blocks,
    bitcoin_blocks,
    orphaned,
    pending = [],
    snapshots = [],
    tx_id,
    replaced,
  } = answer as Answer;
  const last = tip ?? block ?? blocks?.at(-1);
  const position =
    last === undefined
      ? []
      : [`height ${last.height}`, new Date(last.time * 1_000).toISOString(), `block ${last.index_block_hash}`];
  const parts = [
    ...position,
    ...counted(blocks, 'block'),
    ...counted(bitcoin_blocks, 'Bitcoin block'),
    ...counted(orphaned, 'orphaned block'),
    ...counted(pending, 'pending transaction'),
    ...(snapshots.length === 0 ? [] : [`snapshots ${snapshots.map(({ name }) => name).join(' ')}`]),
    ...(tx_id == null ? [] : [`transaction ${tx_id}`]),
    ...(replaced === undefined ? [] : [`replaces ${replaced}`]),
  ];
  return parts.length === 0 ? 'no new block' : parts.join(', ');
}
