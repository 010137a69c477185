/** Deployment statuses and logs of contracts. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { chainTip, mempool } from '../../http/etag.ts';
import { FlatPage, flatList, flatQuery, type ItemName, NO_CURSOR } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { Deployment } from '../../store/model/contract.ts';
import type { EventLocation } from '../../store/model/transaction.ts';
import { ContractLog, contractLogRows } from '../shared/event.ts';
import { example } from '../shared/examples/examples.ts';
import { Hash, Height, named, words } from '../shared/fields.ts';
import { PATTERNS, RULES } from '../shared/identifiers.ts';

const ContractStatus = Type.Union(
  [
    named('KnownContractStatus', {
      found: Type.Literal(true),
      result: Type.Object({
        status: words(
          'pending',
          'success',
          'abort_by_response',
          'abort_by_post_condition',
          'problematic_skipped',
          'unknown',
        ),
        tx_id: Hash,
        contract_id: Type.String(),
        block_height: Type.Optional(Height),
      }),
    }),
    named('UnknownContractStatus', { found: Type.Literal(false) }),
  ],
  { $id: 'ContractStatus' },
);

const ContractStatuses = Type.Unsafe<Record<string, Static<typeof ContractStatus>>>(
  Type.Object({}, { $id: 'ContractStatuses', additionalProperties: ContractStatus }),
);

function contractStatus(
  contractId: string,
  deployment: Deployment | undefined,
): Static<typeof ContractStatuses>[string] {
  if (deployment === undefined) return { found: false };
  const { status, txId } = deployment;
  const result = { status, tx_id: toHex(txId), contract_id: contractId };
  return {
    found: true,
    result: deployment.status === 'pending' ? result : { ...result, block_height: deployment.height },
  };
}

const tag = 'Smart contracts';

/** A contract identifier. An address without a name is answered like an unknown contract. */
const ContractId = Type.String({ pattern: PATTERNS.principal, rule: RULES.contract, examples: example('contract_id') });

const eventName: ItemName<EventLocation> = {
  pattern: '\\d+:\\d+:\\d+:\\d+',
  description:
    'block height, microblock sequence (2147483647 if there is none), index of the transaction and index of the event, ' +
    'with colons between them',
  read: eventPlace,
};

function eventPlace(text: string): EventLocation {
  const [height = 0, microblockSequence = 0, txIndex = 0, eventIndex = 0] = text
    .split(':')
    .map((part) => Math.min(Number(part), Number.MAX_SAFE_INTEGER));
  return { height, microblockSequence, txIndex, eventIndex };
}

export const contractRoutes = [
  route({
    path: '/extended/v2/smart-contracts/status',
    operationId: 'getSmartContractsStatus',
    summary: 'Deployment status of contracts',
    description:
      'Returns whether the newest deployment of each given contract succeeded, failed or is pending. The answer is keyed by contract identifier.',
    tag,
    query: {
      contract_id: Type.Array(ContractId, { explode: true, description: 'Contract identifiers, as repeated keys' }),
    },
    response: ContractStatuses,
    etag: mempool,
    history: 'since',
    handle: ({ query: { contract_id }, read }) =>
      Object.fromEntries(contract_id.map((id) => [id, contractStatus(id, read.contracts.deployment(id))])),
  }),
  route({
    path: '/extended/v2/smart-contracts/{contract_id}/logs',
    operationId: 'getSmartContractLogs',
    summary: 'Events logged by a contract (v2)',
    description: 'Returns the events that a contract printed on the canonical chain, newest first.',
    tag,
    params: { contract_id: Type.String({ description: 'Contract identifier', examples: example('contract_id') }) },
    query: flatQuery({ maximum: 100, reach: 1000, item: eventName }),
    response: FlatPage(ContractLog),
    notFound: NO_CURSOR,
    etag: chainTip,
    history: 'since',
    handle: ({ params: { contract_id }, query, read }) => {
      const list = flatList(`contract-logs ${contract_id}`, eventName, query);
      return list.page(read.contracts.logs(contract_id, ...list.start, contractLogRows));
    },
  }),
];
