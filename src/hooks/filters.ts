/** What the filters of a chainhook mean for matching. */
import type { ChainEvent, ChainTransaction, TransactionStatus } from '../chain/block.ts';
import { clarityRepr } from '../codec/clarity-repr.ts';
import { toHex } from '../codec/hex.ts';
import { tenureChangeCauses } from '../codec/tenure-change.ts';
import { literalOf, serializedForms } from '../codec/value-condition.ts';
import type { IndexKey } from '../store/hooks/candidates.ts';
import type { Filter, FilterType } from './filter-schemas.ts';

/** What can't be decided by the indexed values of an event or transaction. */
export type Residual = (transaction: ChainTransaction, event: ChainEvent | null) => boolean;

/**
 * A filter as it is matched: all of `exact` must hold of one event or transaction, and the residual. A filter may stand
 * for several, of which one must match.
 */
export interface Condition {
  type: FilterType;
  /** Parameter and the value it must have, in the order of {@link filterSchemas}. */
  exact: readonly (readonly [parameter: string, value: string])[];
  residual: Residual | null;
}

/** The serialized values that an NFT `value` stands for, in hex. */
const nftValues = (value: number | string): string[] => serializedForms(literalOf(String(value))).map(toHex);

/** `extended` stands for every kind of extension: the others have no word in the published schema. */
const causesOf = (cause: string): readonly string[] => (cause === 'extended' ? tenureChangeCauses.slice(1) : [cause]);

const amountOf = (event: ChainEvent | null): bigint =>
  event !== null && 'amount' in event ? BigInt(event.amount) : 0n;

function residualOf(filter: Filter): Residual | null {
  if ('min_amount' in filter && filter.min_amount !== undefined) {
    const least = BigInt(filter.min_amount);
    return (_transaction, event) => amountOf(event) >= least;
  }
  if ('status' in filter && filter.status !== undefined) {
    const statuses = new Set<TransactionStatus>(filter.status);
    return ({ status }) => statuses.has(status);
  }
  if (filter.type === 'contract_log' && filter.contains !== undefined) {
    const { contains } = filter;
    return (_transaction, event) => event?.kind === 'contract_log' && clarityRepr(event.value).includes(contains);
  }
  return null;
}

/** Parameters that an index can hold. */
const indexed = ['principal', 'contract_identifier', 'function_name', 'asset_identifier', 'topic', 'sender'] as const;

/** What a filter means; more than one condition where a parameter stands for several values, none where for none. */
export function conditionsOf(filter: Filter): Condition[] {
  const given: Readonly<Record<string, unknown>> = filter;
  const exact: [string, string][] = [];
  for (const name of indexed) {
    const value = given[name];
    if (typeof value === 'string') exact.push([name, value]);
  }
  const to = given.receiver ?? given.recipient;
  if (typeof to === 'string') exact.push(['receiver', to]);
  const residual = residualOf(filter);
  const condition = (...more: [string, string][]): Condition => ({
    type: filter.type,
    exact: [...exact, ...more],
    residual,
  });
  if ('value' in filter && filter.value !== undefined)
    return nftValues(filter.value).map((value) => condition(['value', value]));
  if (filter.type === 'tenure_change' && filter.cause !== undefined)
    return causesOf(filter.cause).map((cause) => condition(['cause', cause]));
  return [condition()];
}

/**
 * The index key by which the blocks that may match are found: a principal that every match of the condition involves, null
 * where any block may match. Events that a contract logs involve it only as their emitter.
 */
export function indexKeyOf({ type, exact }: Condition): IndexKey | null {
  const values = new Map(exact);
  const contract = values.get('contract_identifier');
  if (type === 'contract_log' && contract !== undefined) return { kind: 'logs', principal: contract };
  const principal = values.get('principal') ?? contract ?? values.get('sender') ?? values.get('receiver');
  return principal === undefined ? null : { kind: 'principal', principal };
}
