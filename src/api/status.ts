/** Version of the server, tip of its index, and target block times of the networks. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../codec/hex.ts';
import { chainAndBurnTip, chainTip } from '../http/etag.ts';
import { HistoryFrom } from '../http/history.ts';
import { Redirect, route, WITHOUT_INDEX } from '../http/route.ts';
import type { ChainTip } from '../store/model/block.ts';
import { Hash, Height, named, object } from './shared/fields.ts';

const [Tip, tip] = object<ChainTip>('ChainTip')({
  block_height: [Height, ({ height }) => height],
  block_hash: [Hash, ({ blockHash }) => toHex(blockHash)],
  index_block_hash: [Hash, ({ indexBlockHash }) => toHex(indexBlockHash)],
  burn_block_height: [Height, ({ burnBlockHeight }) => burnBlockHeight],
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
      const [newest, from] = [read.chain.tip(), read.chain.historyFrom()];
      return {
        server_version: version,
        status: 'ready' as const,
        ...(newest === null ? {} : { chain_tip: tip(newest) }),
        ...(from === null ? {} : { history_from: from }),
      };
    },
  }),
];

export const statusRedirects = [
  route({
    path: '/extended/v1/status',
    operationId: 'redirectToStatus',
    summary: 'Redirects to the status',
    tag: 'Status',
    hidden: true,
    response: Type.Void(),
    ...WITHOUT_INDEX,
    handle: () => new Redirect('/extended', 301),
  }),
];

/** Seconds between Bitcoin blocks, as v1 has always returned them. */
const targets = { mainnet: { target_block_time: 600 }, testnet: { target_block_time: 120 } } as const;

const NetworkName = Type.Union([Type.Literal('mainnet'), Type.Literal('testnet')], { description: 'Network' });

const Target = named('TargetBlockTime', {
  target_block_time: Type.Integer({ description: 'Target time between blocks, in seconds' }),
});

/** The replacement returns measured times. */
const family = { tag: 'Info', deprecated: { replacement: '/extended/v2/blocks/average-times' }, etag: chainTip };

export const info = [
  route({
    ...family,
    path: '/extended/v1/info/network_block_times',
    operationId: 'getNetworkBlockTimes',
    summary: 'Target block times',
    description: 'Returns the number of seconds between blocks that each network aims at.',
    response: named('TargetBlockTimes', { mainnet: Target, testnet: Target }),
    history: 'none',
    handle: () => targets,
  }),
  route({
    ...family,
    path: '/extended/v1/info/network_block_time/{network}',
    operationId: 'getNetworkBlockTimeByNetwork',
    summary: 'Target block time of a network',
    description: 'Returns the number of seconds between blocks that one network aims at.',
    params: { network: NetworkName },
    response: Target,
    history: 'none',
    handle: ({ params: { network } }) => targets[network],
  }),
];
