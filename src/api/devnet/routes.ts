/** Steering of the simulated node: blocks, forks, time, accounts and transactions. */
import { Type } from '@sinclair/typebox';
import { MAX_STEP } from '../../devnet/limits.ts';
import { templates } from '../../devnet/traffic.ts';
import { type Route, route } from '../../http/route.ts';
import { named, nullable } from '../shared/fields.ts';
import { closed, type DevnetFamily, familyOf, requireOneOf, State, type Steering, stateOf } from './family.ts';
import { makers } from './makers.ts';
import { senders } from './senders.ts';

const Time = Type.Object(
  {
    seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_STEP })),
    until_time: Type.Optional(Type.Integer({ minimum: 1, description: 'Unix seconds, in place of `seconds`' })),
  },
  closed,
);

const Interval = Type.Object({ seconds: Type.Integer({ minimum: 0, maximum: 3_600 }) }, closed);
const Contract = named('DevnetContract', {
  name: Type.String(),
  clarity_version: nullable(Type.Integer()),
  functions: Type.Array(Type.String()),
  source: Type.String(),
});

const reads = (family: DevnetFamily): Route[] => [
  route({
    ...family,
    path: '/stackside/v1/devnet',
    operationId: 'getDevnet',
    summary: 'State of the simulated node',
    description:
      'Returns the tip, the reward cycle, the interval, the pending transactions, the faucet and the accounts of a project.',
    response: State,
    handle: ({ caller: node }) => stateOf(node),
  }),
  route({
    ...family,
    path: '/stackside/v1/devnet/contracts',
    operationId: 'getDevnetContracts',
    summary: 'Contracts with simulated functions',
    description:
      'Lists the contracts that work without a Clarity runtime, with their sources. They may be deployed by anybody with any name, but with exactly this source.',
    response: named('DevnetContracts', { contracts: Type.Array(Contract) }),
    handle: () => ({
      contracts: templates.map(({ name, clarityVersion, source, functions = {} }) => ({
        name,
        clarity_version: clarityVersion ?? null,
        functions: Object.keys(functions),
        source,
      })),
    }),
  }),
];
const clocks = (family: DevnetFamily): Route[] => {
  const post = { ...family, method: 'POST', response: State } as const;
  return [
    route({
      ...post,
      path: '/stackside/v1/devnet/time',
      operationId: 'advanceDevnetTime',
      summary: 'Advance the time of the next block',
      description:
        'Advances the time of the next block by `seconds`, or to `until_time`, and returns the state. If contracts run for real, the chain mines Bitcoin blocks and then ten-second blocks until that time; the last one is up to nine seconds late.',
      body: Time,
      handle: async ({ caller: node, body }) => {
        requireOneOf(body, 'seconds', 'until_time');
        await node.advance(body);
        return stateOf(node);
      },
    }),
    route({
      ...post,
      path: '/stackside/v1/devnet/interval',
      operationId: 'setDevnetInterval',
      summary: 'Mine by the clock, or only on request',
      description: 'Sets the seconds between two blocks, 0 to mine only on request, and returns the state.',
      body: Interval,
      handle: async ({ caller: node, body }) => {
        await node.mineEvery(body.seconds);
        return stateOf(node);
      },
    }),
  ];
};

/** @param steering null in an API thread, which passes requests on */
export const devnetRoutes = (steering: Steering | null): readonly Route[] => {
  const family = familyOf(steering);
  return [...reads(family), ...makers(family), ...senders(family), ...clocks(family)];
};
