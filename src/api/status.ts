/** Version of the server, and tip of its index. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../codec/hex.ts';
import { chainAndBurnTip } from '../http/etag.ts';
import { HistoryFrom } from '../http/history.ts';
import { Redirect, route } from '../http/route.ts';
import type { ChainTip } from '../store/model/block.ts';
import { named } from './shared/fields.ts';
import { Hash, Height } from './shared/values.ts';

const Tip = named('ChainTip', {
  block_height: Height,
  block_hash: Hash,
  index_block_hash: Hash,
  burn_block_height: Height,
});

/** The route of the server's status, and redirects that lead to it. @param version as `versionText` makes it */
export const status = (version: string) => [
  route({
    path: '/extended',
    operationId: 'getStatus',
    summary: 'Server version and chain tip',
    description:
      'Returns the version of the server and the tip of the chain that it has indexed. `chain_tip` is missing until the first block has arrived, and `history_from` unless the server began at a block.',
    tag: 'Status',
    response: named('Status', {
      server_version: Type.String(),
      status: Type.Literal('ready'),
      chain_tip: Type.Optional(Tip),
      history_from: Type.Optional(HistoryFrom),
    }),
    etag: chainAndBurnTip,
    history: 'none',
    handle: ({ read }) => {
      const [tip, from] = [read.chain.tip(), read.chain.historyFrom()];
      return {
        server_version: version,
        status: 'ready' as const,
        ...(tip === null ? {} : { chain_tip: chainTip(tip) }),
        ...(from === null ? {} : { history_from: from }),
      };
    },
  }),
];

function chainTip({ height, blockHash, indexBlockHash, burnBlockHeight }: ChainTip): Static<typeof Tip> {
  return {
    block_height: height,
    block_hash: toHex(blockHash),
    index_block_hash: toHex(indexBlockHash),
    burn_block_height: burnBlockHeight,
  };
}

export const statusRedirects = [
  route({
    path: '/extended/v1/status',
    operationId: 'redirectToStatus',
    summary: 'Redirects to the status',
    tag: 'Status',
    hidden: true,
    response: Type.Void(),
    etag: null,
    history: 'none',
    snapshot: false,
    handle: () => new Redirect('/extended', 301),
  }),
];
