/** Target block times of the networks. */
import { Type } from '@sinclair/typebox';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import { named } from '../shared/fields.ts';

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
