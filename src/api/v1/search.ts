/** Search by id. */
import { type Static, Type } from '@sinclair/typebox';
import { isPrincipal, splitPrincipal } from '../../codec/address.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import { ShapedError } from '../../http/errors.ts';
import { notFoundText, requireWholeHistory } from '../../http/history.ts';
import { route } from '../../http/route.ts';
import type { TransactionDetail } from '../../store/model/transaction.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { StxBalanceWithTotals, stxBalanceWithTotals } from '../shared/address.ts';
import { Block, block } from '../shared/block.ts';
import { example } from '../shared/examples/examples.ts';
import { Hash, Height, Hex, named, Principal, UnixTime, words } from '../shared/fields.ts';
import { TIP } from '../shared/parameters.ts';
import {
  declarationsFor,
  FoundTransaction,
  foundTransaction,
  MempoolTransaction,
  mempoolTransaction,
  Transaction,
  transaction,
  typeWords,
} from '../shared/transaction.ts';

const tx_type = { ...words(...typeWords), $id: 'TransactionTypeV1' };
const MinedData = {
  canonical: Type.Boolean(),
  block_hash: Hex,
  burn_block_time: UnixTime,
  block_height: Height,
  tx_type,
};

const foundSchema = ($id: string, entity: Parameters<typeof Type.Object>[0]) =>
  named($id, { found: Type.Literal(true), result: Type.Object(entity) });

const Search = Type.Union(
  [
    foundSchema('FoundMinedTransaction', {
      entity_id: Hash,
      entity_type: Type.Literal('tx_id'),
      tx_data: Type.Object(MinedData),
      metadata: Type.Optional(Transaction),
    }),
    foundSchema('FoundMempoolTransaction', {
      entity_id: Hash,
      entity_type: Type.Literal('mempool_tx_id'),
      tx_data: Type.Object({ tx_type }),
      metadata: Type.Optional(MempoolTransaction),
    }),
    foundSchema('FoundBlock', {
      entity_id: Hash,
      entity_type: Type.Literal('block_hash'),
      block_data: Type.Object({
        canonical: Type.Boolean(),
        hash: Hash,
        parent_block_hash: Hash,
        burn_block_time: UnixTime,
        height: Height,
      }),
      metadata: Type.Optional(Block),
    }),
    foundSchema('FoundContract', {
      entity_id: Principal,
      entity_type: Type.Literal('contract_address'),
      tx_data: Type.Optional(
        Type.Union(
          [
            named('MinedDeployment', { ...MinedData, tx_id: Hash }),
            named('PendingDeployment', { tx_type, tx_id: Hash }),
          ],
          { description: 'The deployment; missing for a contract principal that has transactions but is not deployed' },
        ),
      ),
      metadata: Type.Optional(FoundTransaction),
    }),
    foundSchema('FoundAddress', {
      entity_id: Principal,
      entity_type: Type.Literal('standard_address'),
      metadata: Type.Optional(StxBalanceWithTotals),
    }),
  ],
  { $id: 'SearchResult' },
);

const NothingFound = named('NothingFound', {
  found: Type.Literal(false),
  result: Type.Object({ entity_type: words('unknown_hash', 'invalid_term', 'contract_address', 'standard_address') }),
  error: Type.String({ description: 'What is wrong' }),
});

type SearchResponse = Static<typeof Search>;

const HASH = /^(0x)?[0-9a-fA-F]{64}$/;

type TermKind = Static<typeof NothingFound>['result']['entity_type'];

function notFoundTerm(entity_type: TermKind, message: string): ShapedError {
  const body: Static<typeof NothingFound> = { found: false, result: { entity_type }, error: message };
  return new ShapedError(404, message, body);
}

const minedData = (detail: TransactionDetail) => ({
  canonical: detail.canonical,
  block_hash: toHex(detail.block.hash),
  burn_block_time: detail.burnBlock.time,
  block_height: detail.block.height,
  tx_type: detail.payload.type,
});

/** Adds the whole object to an entity, if the request asks for it. */
const found = <E extends object, M>(entity: E, withMetadata: boolean, metadata: () => M) => ({
  found: true as const,
  result: withMetadata ? { ...entity, metadata: metadata() } : entity,
});

function byHash(read: Reader, hash: Uint8Array, withMetadata: boolean): SearchResponse {
  const entity_id = toHex(hash);
  const inForks = read.transactions.findInForks(hash);
  const context = () => ({ declarations: declarationsFor(read, inForks === undefined ? [] : [inForks.transaction]) });
  if (inForks?.mined) {
    const entity = { entity_id, entity_type: 'tx_id' as const, tx_data: minedData(inForks.transaction) };
    return found(entity, withMetadata, () => transaction(inForks.transaction, context()));
  }
  if (inForks !== undefined) {
    const tx_data = { tx_type: inForks.transaction.payload.type };
    const entity = { entity_id, entity_type: 'mempool_tx_id' as const, tx_data };
    return found(entity, withMetadata, () => mempoolTransaction(inForks.transaction, context()));
  }
  const stored = read.blocks.whole({ hash });
  if (stored === undefined)
    throw notFoundTerm('unknown_hash', notFoundText(read, `No block or transaction found with hash "${entity_id}"`));
  const block_data = {
    canonical: stored.canonical,
    hash: toHex(stored.hash),
    parent_block_hash: toHex(stored.parentHash),
    burn_block_time: stored.burnBlock.time,
    height: stored.height,
  };
  const entity = { entity_id, entity_type: 'block_hash' as const, block_data };
  return found(entity, withMetadata, () => block(stored, 'ascending'));
}

/** Finds the canonical deployment of a contract, else a pending or orphaned one, else only its transactions. */
function byContract(read: Reader, contractId: string, withMetadata: boolean): SearchResponse | undefined {
  const deployment = read.contracts.deployment(contractId) ?? read.contracts.anyDeployment(contractId);
  const inForks = deployment && read.transactions.findInForks(deployment.txId);
  const entity = { entity_id: contractId, entity_type: 'contract_address' as const };
  if (inForks === undefined) {
    // It may be deployed below the first block of a partial history.
    const isUndeployed = read.chain.historyFrom() === null && read.principals.isKnown(contractId);
    return isUndeployed ? { found: true, result: entity } : undefined;
  }
  const { txId, payload } = inForks.transaction;
  const data = inForks.mined ? minedData(inForks.transaction) : { tx_type: payload.type };
  const deployed = { ...entity, tx_data: { ...data, tx_id: toHex(txId) } };
  return found(deployed, withMetadata, () => foundTransaction(read, inForks));
}

function byAddress(read: Reader, address: string, withMetadata: boolean): SearchResponse | undefined {
  if (!read.principals.isKnown(address)) return undefined;
  return found({ entity_id: address, entity_type: 'standard_address' as const }, withMetadata, () => {
    requireWholeHistory(read);
    return stxBalanceWithTotals(read.principals.stxHistory(address, TIP), false);
  });
}

function findById(read: Reader, id: string, withMetadata: boolean): SearchResponse {
  const term = id.trim();
  if (HASH.test(term)) return byHash(read, fromHex(term), withMetadata);
  if (!isPrincipal(term)) {
    const message = `The term "${term}" is not a valid block hash, transaction ID, contract principal, or account address principal`;
    throw notFoundTerm('invalid_term', message);
  }
  const isContract = splitPrincipal(term).contractName !== null;
  const entity = (isContract ? byContract : byAddress)(read, term, withMetadata);
  if (entity !== undefined) return entity;
  const entityType = isContract ? 'contract_address' : 'standard_address';
  throw notFoundTerm(entityType, notFoundText(read, `No principal found with address "${term}"`));
}

export const search = [
  route({
    path: '/extended/v1/search/{id}',
    operationId: 'searchById',
    summary: 'Search by id',
    description:
      'Returns the object with an id: a transaction, a block, a contract or an address. Canonical transactions are preferred to pending ones, and pending ones to orphaned ones.',
    tag: 'Search',
    params: {
      id: Type.String({
        description: 'Transaction id, block hash, contract identifier or address',
        examples: example('tx_id'),
      }),
    },
    query: {
      include_metadata: Type.Boolean({
        default: false,
        description: 'Whether to return the whole transaction, block, contract or balance that was found',
      }),
    },
    response: Search,
    notFound: 'Nothing with this id found; the body states the kind of id',
    notFoundBody: NothingFound,
    etag: null,
    history: 'since',
    handle: ({ params: { id }, query: { include_metadata }, read }) => findById(read, id, include_metadata),
  }),
];
