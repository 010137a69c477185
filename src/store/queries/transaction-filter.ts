/** What the filters of a search come to: by which index its transactions are found, and how many those are. */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import type { TransactionType } from '../../codec/transaction.ts';
import type { TransactionFilter } from '../model/transaction.ts';
import { prepared } from '../rows/statement.ts';
import { typeNumbers } from '../rows/words.ts';
import { type Narrowing, sizes } from './transaction-search-sql.ts';

export type Value = number | string | null;
type Filter = 'types' | 'sender' | 'recipient' | 'contract' | 'functionName' | 'nonce' | 'span';

/** The filters that an index finds by itself. */
const found: Readonly<Record<Narrowing, readonly Filter[]>> = {
  types: ['types'],
  sender: ['sender'],
  senderNonce: ['sender', 'nonce'],
  recipient: ['recipient'],
  contract: ['contract'],
  functionName: ['functionName'],
  call: ['contract', 'functionName'],
  nonce: ['nonce'],
  span: ['span'],
};

interface Narrowed {
  name: Narrowing;
  /** How many transactions it finds; of `nonce` and `call` no more than one above the rows that are read. */
  size: number;
}

/** A search that may find something. */
export interface Search {
  narrowest: Narrowed;
  /** Whether the narrowest index finds all that the filters ask for. */
  whole: boolean;
  /** The parameters ?1 to ?10. */
  values: Value[];
  types: readonly number[];
  contract: number | null;
}

/** The type that other filters ask for; null for any, undefined where two of them ask for different ones. */
function impliedType({ recipient, contract, functionName }: TransactionFilter): TransactionType | null | undefined {
  const called = contract !== null || functionName !== null;
  if (recipient === null) return called ? 'contract_call' : null;
  return called ? undefined : 'token_transfer';
}

/** The filter that lets the fewest through; of equals the one that finds most of what is asked for. */
function narrowestOf(narrowed: readonly Narrowed[]): Narrowed | null {
  const order = (a: Narrowed, b: Narrowed) => a.size - b.size || found[b.name].length - found[a.name].length;
  return narrowed.toSorted(order)[0] ?? null;
}

interface PrincipalRow {
  id: number;
  sent: number;
  paid: number;
  calls: number;
}

/** The parts of a filter as the index knows them; null where they aren't given, or nothing of the name is known. */
interface Parts {
  types: readonly number[] | null;
  sender: PrincipalRow | null;
  recipient: PrincipalRow | null;
  contract: PrincipalRow | null;
  /** The blocks of a span of time. */
  span: { first: number | null; last: number | null; size: number } | null;
}

/** The parameters ?1 to ?10 of every statement. */
const valuesOf = (
  { functionName, nonce, since, until }: TransactionFilter,
  { types, sender, recipient, contract, span }: Parts,
): Value[] => [
  types === null ? null : types.reduce((mask, type) => mask | (1 << type), 0),
  sender?.id ?? null,
  recipient?.id ?? null,
  contract?.id ?? null,
  functionName,
  nonce,
  since,
  until,
  span?.first == null ? 0 : positionsOf(span.first).first,
  span?.last == null ? Number.MAX_SAFE_INTEGER : positionsOf(span.last).last,
];

/** What measures filters, through this connection. @param mostRows that are read of a list; more are counted by one alone */
export function filterMeasure(db: Database, mostRows: number) {
  const sizeOfType = prepared<{ size: number }, [number]>(db, sizes.type);
  const principalOf = prepared<PrincipalRow, [string]>(db, sizes.principal);
  const sizeOfFunction = prepared<{ size: number }, [string]>(db, sizes.functionName);
  const sizeOfNonce = prepared<{ size: number }, [number, number]>(db, sizes.nonce);
  const sizeOfCall = prepared<{ size: number }, [number, string, number]>(db, sizes.call);
  const between = prepared<{ first: number | null; last: number | null; size: number }, [number, number]>(
    db,
    sizes.between,
  );

  /** How many transactions each filter lets pass that narrows the search. */
  function narrowedBy(filter: TransactionFilter, parts: Parts): Narrowed[] {
    const { functionName, nonce } = filter;
    const { types, sender, recipient, contract, span } = parts;
    const narrowed: Narrowed[] = [];
    const add = (name: Narrowing, size: number) => narrowed.push({ name, size });
    if (types !== null) {
      add(
        'types',
        types.reduce((sum, type) => sum + (sizeOfType.get(type)?.size ?? 0), 0),
      );
    }
    if (filter.sender !== null) add('sender', sender?.sent ?? 0);
    if (filter.recipient !== null) add('recipient', recipient?.paid ?? 0);
    if (filter.contract !== null) add('contract', contract?.calls ?? 0);
    if (functionName !== null) add('functionName', sizeOfFunction.get(functionName)?.size ?? 0);
    if (contract !== null && functionName !== null) {
      add('call', sizeOfCall.get(contract.id, functionName, mostRows + 1)?.size ?? 0);
    }
    if (nonce !== null) add('nonce', sizeOfNonce.get(nonce, mostRows + 1)?.size ?? 0);
    if (filter.since !== null || filter.until !== null) add('span', span?.size ?? 0);
    // A nonce is spent once.
    if (nonce !== null && sender !== null) add('senderNonce', Math.min(1, sender.sent));
    return narrowed;
  }

  /** The parts of a filter as the index knows them; null where nothing passes two of them. */
  function partsOf(filter: TransactionFilter): Parts | null {
    const { since, until } = filter;
    const implied = impliedType(filter);
    if (implied === undefined || (implied !== null && filter.types?.includes(implied) === false)) return null;
    const given = implied === null ? filter.types : null;
    const found = (principal: string | null) => (principal === null ? null : principalOf.get(principal));
    return {
      types: given === null ? null : [...new Set(given.flatMap((type) => typeNumbers(type)))],
      sender: found(filter.sender),
      recipient: found(filter.recipient),
      contract: found(filter.contract),
      span: since === null && until === null ? null : between.get(since ?? 0, until ?? Number.MAX_SAFE_INTEGER),
    };
  }

  return {
    /** What the filters come to; null where nothing passes them. */
    searchOf(filter: TransactionFilter): Search | null {
      const parts = partsOf(filter);
      if (parts === null) return null;
      const narrowed = narrowedBy(filter, parts);
      const narrowest = narrowestOf(narrowed);
      if (narrowest === null || narrowest.size === 0) return null;
      const filters = new Set(narrowed.flatMap(({ name }) => found[name]));
      return {
        narrowest,
        whole: [...filters].every((one) => found[narrowest.name].includes(one)),
        values: valuesOf(filter, parts),
        types: parts.types ?? [],
        contract: parts.contract?.id ?? null,
      };
    },

    /** Transactions with a nonce, counted up to a limit. */
    countOfNonce: (nonce: number, limit: number): number => sizeOfNonce.get(nonce, limit)?.size ?? 0,
    /** Calls of a function of a contract, counted up to a limit. */
    countOfCall: (contract: number, functionName: string, limit: number): number =>
      sizeOfCall.get(contract, functionName, limit)?.size ?? 0,
  };
}
