/** Contracts of v1 with their interface, and the events they print. */
import { Type } from '@sinclair/typebox';
import { parsedJson } from '../../base/json.ts';
import { implementsTrait, type TraitFunction, traitFunctions } from '../../codec/abi.ts';
import { toHex } from '../../codec/hex.ts';
import { payloadOf } from '../../codec/transaction.ts';
import { notFound, requireFound } from '../../http/errors.ts';
import { anyFork, chainTip } from '../../http/etag.ts';
import { serializedLazily } from '../../http/json.ts';
import { legacyOffsetQuery, UncountedPage } from '../../http/pagination.ts';
import { InvalidValue } from '../../http/parameters.ts';
import { route } from '../../http/route.ts';
import type { ContractDeployment } from '../../store/model/contract.ts';
import { contractLogRows, TransactionEvent } from '../shared/event.ts';
import { example } from '../shared/examples/examples.ts';
import { Hash, Height, nullable, object } from '../shared/fields.ts';
import { textParameter } from '../shared/parameters.ts';

/** JSON text with members in the order of PostgreSQL's jsonb (shorter names first, then by bytes): clients compare the texts. */
function orderedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(orderedJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => ({ name, bytes: Buffer.from(name), member }));
  members.sort((a, b) => a.bytes.length - b.bytes.length || Buffer.compare(a.bytes, b.bytes));
  return `{${members.map(({ name, member }) => `${JSON.stringify(name)}:${orderedJson(member)}`).join(',')}}`;
}

const [Contract, contract] = object<ContractDeployment>('SmartContractV1')({
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  canonical: [Type.Boolean(), ({ canonical }) => canonical],
  contract_id: [Type.String(), ({ contractId }) => contractId],
  block_height: [Height, ({ height }) => height],
  clarity_version: [nullable(Type.Integer()), ({ clarityVersion }) => clarityVersion],
  source_code: [Type.String(), ({ raw }) => payloadOf(raw, 'smart_contract').source],
  abi: [
    nullable(Type.String({ description: 'Interface of the contract, as JSON text' })),
    ({ contractInterface }) => (contractInterface === null ? null : orderedJson(JSON.parse(contractInterface))),
  ],
});

const tag = 'Smart contracts (v1)';
/** Maximum functions of a trait: each is compared with the functions of every contract that may implement the trait. */
const MAX_FUNCTIONS = 50;
const contract_id = Type.String({ description: 'Contract identifier', examples: example('contract_id') });
const listQuery = legacyOffsetQuery({ maximum: 50, default: 20 });

const Trait = textParameter(trait, (functions) => JSON.stringify({ functions }), {
  description: 'Interface of the trait, as JSON with `functions`, each with its `args`',
  examples: ['{"functions":[{"name":"get-balance","args":[{"name":"who","type":"principal"}]}]}'],
});

function trait(text: string): TraitFunction[] {
  const value = parsedJson(text);
  if (value === undefined) throw new InvalidValue("'trait_abi'", 'it must be JSON');
  const functions = traitFunctions(value);
  if (functions === null) throw new InvalidValue("'trait_abi'", 'it must have functions, each with a list of args');
  if (functions.length > MAX_FUNCTIONS) {
    throw new InvalidValue("'trait_abi'", `it must have at most ${MAX_FUNCTIONS} functions`);
  }
  return functions;
}

const listFamily = { tag, etag: chainTip, history: 'since' } as const;

export const contracts = [
  route({
    ...listFamily,
    path: '/extended/v1/contract/by_trait',
    operationId: 'getContractsByTrait',
    summary: 'Contracts that implement a trait',
    description: 'Returns the contracts whose interface has every function of the given trait, newest first.',
    deprecated: { replacement: null },
    query: { trait_abi: Trait, ...listQuery },
    response: UncountedPage(Contract),
    notFound: 'Contract not found: no contract implements this trait',
    handle: ({ query: { trait_abi: functions, limit, offset }, read }) => {
      const names = functions.flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
      const passes = (contractInterface: unknown) => implementsTrait(contractInterface, functions);
      const deployments = read.contracts.withInterface(names, passes, limit, offset);
      if (deployments.length === 0) throw notFound('cannot find contract for this trait');
      return { limit, offset, results: serializedLazily(deployments, contract) };
    },
  }),
  route({
    path: '/extended/v1/contract/{contract_id}',
    operationId: 'getContractById',
    summary: 'One contract with its interface',
    description:
      'Returns a contract with its source code and interface. A contract that no canonical block deployed is taken from another fork.',
    tag,
    deprecated: { replacement: '/extended/v3/smart-contracts/{contract_id}' },
    params: { contract_id },
    response: Contract,
    notFound: 'Contract not found',
    etag: anyFork,
    history: 'thing',
    handle: ({ params, read }) =>
      contract(requireFound(read.contracts.anyDeployment(params.contract_id), 'cannot find contract by ID')),
  }),
  route({
    ...listFamily,
    path: '/extended/v1/contract/{contract_id}/events',
    operationId: 'getContractEventsById',
    summary: 'Events logged by a contract',
    description:
      'Returns the events that a contract printed on the canonical chain, newest first. Unknown contracts return an empty list.',
    deprecated: { replacement: '/extended/v2/smart-contracts/{contract_id}/logs' },
    params: { contract_id },
    query: listQuery,
    response: UncountedPage(TransactionEvent),
    handle: ({ params, query: { limit, offset }, read }) => {
      const start = { cursor: null, item: null, offset };
      const page = read.contracts.logs(params.contract_id, limit, start, contractLogRows);
      return { limit, offset, results: page?.items ?? [] };
    },
  }),
];
