/**
 * Finds the hooks that match a block. The filters of all hooks are in one index. Each transaction and event is looked up in the
 * index by its values. So the cost of a block grows with its events and with its matches, not with the number of hooks. A
 * filter becomes one or several conditions.
 */
import { lazy } from '../../base/cache.ts';
import type { Block, ChainEvent, ChainTransaction, TransactionStatus } from '../../chain/block.ts';
import { memoBytes } from '../../chain/memo-transfers.ts';
import { decodeArguments } from '../../codec/clarity.ts';
import { clarityPlainText, clarityRepr } from '../../codec/clarity-text.ts';
import { toHex } from '../../codec/hex.ts';
import { tenureChangeCauses } from '../../codec/payload.ts';
import { memoText } from '../../codec/utf8.ts';
import { literalOf, serializedForms } from '../../codec/value-condition.ts';
import type { IndexKey } from '../../store/hooks/candidates.ts';
import type { Filter, FilterOf, FilterType } from '../definition/filter-schemas.ts';

/** The part of a condition that the index can't decide. */
type Residual = (subject: Subject) => boolean;

/**
 * A filter as it is matched: one event or transaction must have all `exact` values and pass the residual. A filter may
 * become several conditions; one of them must match.
 */
export interface Condition {
  type: FilterType;
  /** Parameters with the values they must have, in the order of {@link filterSchemas}. */
  exact: readonly (readonly [parameter: string, value: string])[];
  residual: Residual | null;
}

/** The serialized values, in hex, that an NFT filter's `value` may mean. */
const nftValues = (value: number | string): string[] => serializedForms(literalOf(String(value))).map(toHex);

/** `extended` matches every kind of extension: the published schema doesn't name the others. */
const causesOf = (cause: string): readonly string[] => (cause === 'extended' ? tenureChangeCauses.slice(1) : [cause]);

const amountOf = (event: ChainEvent | null): bigint =>
  event !== null && 'amount' in event ? BigInt(event.amount) : 0n;

/**
 * Decodes a part of a subject once for all filters: an event or a transaction is compared with all of them before the next.
 * @param keyOf returns the object that the part belongs to
 */
function decodedOnce<Value>(keyOf: (subject: Subject) => object | null, decode: (subject: Subject) => Value) {
  let last: { key: object | null; value: Value } | null = null;
  return (subject: Subject): Value => {
    const key = keyOf(subject);
    if (last === null || last.key !== key) last = { key, value: decode(subject) };
    return last.value;
  };
}

/** The texts of a print: its repr, with the characters of strings escaped, and with them as they are. */
const printTexts = decodedOnce(
  ({ event }) => event,
  ({ event }) => {
    if (event?.kind !== 'contract_log') return [];
    const repr = clarityRepr(event.value);
    return repr.includes('\\') ? [repr, clarityPlainText(event.value)] : [repr];
  },
);

/** Zeros pad a memo to its 34 bytes. */
const withoutPadding = (hex: string): string => hex.toLowerCase().replace(/(00)+$/, '');

/** The memo of a transfer: its text, and its digits without padding; null if there is none. */
const memo = decodedOnce(
  ({ event }) => event,
  ({ transaction, event, next }) => {
    const bytes = event?.kind === 'stx' ? memoBytes(transaction, event, next) : null;
    return bytes === null ? null : { text: memoText(bytes), hex: withoutPadding(toHex(bytes)) };
  },
);

function memoResidual({ equals, contains }: NonNullable<FilterOf<'stx_transfer'>['memo']>): Residual {
  const hex = equals !== undefined && /^0x([0-9a-fA-F]{2})+$/.test(equals) ? withoutPadding(equals) : null;
  return (subject) => {
    const actual = memo(subject);
    if (actual === null) return false;
    if (contains !== undefined && !actual.text.includes(contains)) return false;
    return equals === undefined || actual.text === equals || actual.hex === hex;
  };
}

/** The arguments of a call, each with its serialized form in hex and its repr. */
const callArguments = decodedOnce(
  ({ transaction }) => transaction,
  ({ transaction: { payload } }) => {
    const values = payload.type === 'contract_call' ? decodeArguments(payload.functionArgs) : null;
    if (values === null || !values.ok) return [];
    return values.value.map((value) => ({ hex: lazy(() => toHex(value)), repr: lazy(() => clarityRepr(value)) }));
  },
);

function argumentResidual({ index, equals }: NonNullable<FilterOf<'contract_call'>['argument']>): Residual {
  const forms = new Set(serializedForms(literalOf(equals)).map(toHex));
  return (subject) => {
    const value = callArguments(subject)[index];
    return value !== undefined && (forms.has(value.hex()) || value.repr() === equals);
  };
}

/** Returns the conditions that the index can't decide; all of them must hold. */
function* residualsOf(filter: Filter): Iterable<Residual> {
  if ('min_amount' in filter && filter.min_amount !== undefined) {
    const minimum = BigInt(filter.min_amount);
    yield ({ event }) => amountOf(event) >= minimum;
  }
  if ('status' in filter && filter.status !== undefined) {
    const statuses = new Set<TransactionStatus>(filter.status);
    yield ({ transaction: { status } }) => statuses.has(status);
  }
  if (filter.type === 'contract_log' && filter.contains !== undefined) {
    const { contains } = filter;
    yield (subject) => printTexts(subject).some((text) => text.includes(contains));
  }
  if (filter.type === 'stx_transfer' && filter.memo !== undefined) yield memoResidual(filter.memo);
  if (filter.type === 'contract_call' && filter.argument !== undefined) yield argumentResidual(filter.argument);
}

function toResidual(filter: Filter): Residual | null {
  const residuals = [...residualsOf(filter)];
  return residuals.length === 0 ? null : (subject) => residuals.every((residual) => residual(subject));
}

/** Parameters that the index can hold. */
const indexed = ['principal', 'contract_identifier', 'function_name', 'asset_identifier', 'topic', 'sender'] as const;

/** The conditions of a filter: several if a parameter has several meanings, none if it can't match. */
export function toConditions(filter: Filter): Condition[] {
  const parameters: Readonly<Record<string, unknown>> = filter;
  const exact: [string, string][] = [];
  for (const name of indexed) {
    const value = parameters[name];
    if (typeof value === 'string') exact.push([name, value]);
  }
  const receiver = parameters.receiver ?? parameters.recipient;
  if (typeof receiver === 'string') exact.push(['receiver', receiver]);
  const residual = toResidual(filter);
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
 * Returns the index key that finds blocks that may match: a principal that `involvementsOf` has for every match. Null if any
 * block may match. Contract logs involve a principal only as their emitter.
 */
function indexKeyOf({ type, exact }: Condition): IndexKey | null {
  const values = new Map(exact);
  const contract = values.get('contract_identifier');
  if (type === 'contract_log' && contract !== undefined) return { kind: 'logs', principal: contract };
  const principal = values.get('principal') ?? contract ?? values.get('sender') ?? values.get('receiver');
  return principal === undefined ? null : { kind: 'principal', principal };
}

/** Returns the index keys that find blocks that may match one of the conditions; null if any block may match. */
export function indexKeysOf(conditions: readonly Condition[]): IndexKey[] | null {
  const keys = conditions.map(indexKeyOf);
  return keys.every((key) => key !== null) ? keys : null;
}

/** Residuals by hook, for conditions with the same exact values; each hook is added and removed by itself. */
type Residuals = Map<number, (Residual | null)[]>;

/** Conditions of one type with the same parameters. */
interface Shape {
  parameters: readonly string[];
  /** Residuals by key, which is the conditions' values in order. */
  byKey: Map<string, Residuals>;
  /** Number of keys that begin with each value: rejects most events before a key is made. */
  first: Map<string, number>;
}

/** A transaction, or one of its events, that is compared with the filters. */
interface Subject {
  transaction: ChainTransaction;
  txIndex: number;
  event: ChainEvent | null;
  /** The event after `event`; null if there is none. */
  next: ChainEvent | null;
}

/** Occurs in no value. */
const SEPARATOR = '\n';

/** Returns the transactions of a block. Block 1 also lists those of block 0, which hooks don't receive. */
export const ownTransactions = (block: Block): readonly ChainTransaction[] =>
  block.height === 1 ? block.transactions.filter(({ genesis }) => genesis === null) : block.transactions;

/** The matching transactions by hook: ascending indexes in {@link ownTransactions}. */
type Matches = Map<number, number[]>;

/** The filters of many hooks, matched against a block in one pass over its events. */
export class Matcher {
  readonly #shapes = new Map<FilterType, Shape[]>();
  readonly #hooks = new Map<number, readonly Condition[]>();

  get hooks(): number {
    return this.#hooks.size;
  }

  set(hook: number, conditions: readonly Condition[]): void {
    this.delete(hook);
    this.#hooks.set(hook, conditions);
    for (const { type, exact, residual } of conditions) {
      const shape = this.#shape(type, parametersOf(exact));
      const key = keyOfValues(exact);
      let residuals = shape.byKey.get(key);
      if (residuals === undefined) {
        residuals = new Map();
        shape.byKey.set(key, residuals);
        countFirst(shape, exact, 1);
      }
      const hookResiduals = residuals.get(hook);
      if (hookResiduals === undefined) residuals.set(hook, [residual]);
      else hookResiduals.push(residual);
    }
  }

  delete(hook: number): void {
    const conditions = this.#hooks.get(hook);
    if (conditions === undefined) return;
    this.#hooks.delete(hook);
    for (const { type, exact } of conditions) {
      const shapes = this.#shapes.get(type) ?? [];
      const shape = shapeWith(shapes, parametersOf(exact));
      if (shape === undefined) continue;
      const key = keyOfValues(exact);
      const residuals = shape.byKey.get(key);
      residuals?.delete(hook);
      if (residuals?.size === 0) {
        shape.byKey.delete(key);
        countFirst(shape, exact, -1);
      }
      if (shape.byKey.size > 0) continue;
      shapes.splice(shapes.indexOf(shape), 1);
      if (shapes.length === 0) this.#shapes.delete(type);
    }
  }

  clear(): void {
    this.#shapes.clear();
    this.#hooks.clear();
  }

  /** The hooks that match a block. Decodes no values. */
  match(block: Block): Matches {
    const matches: Matches = new Map();
    if (this.#shapes.size === 0) return matches;
    for (const [txIndex, transaction] of ownTransactions(block).entries())
      this.#transaction(transaction, txIndex, matches);
    return matches;
  }

  #shape(type: FilterType, parameters: readonly string[]): Shape {
    const shapes = this.#shapes.get(type) ?? [];
    const existing = shapeWith(shapes, parameters);
    if (existing !== undefined) return existing;
    const shape: Shape = { parameters, byKey: new Map(), first: new Map() };
    this.#shapes.set(type, [...shapes, shape]);
    return shape;
  }

  #transaction(transaction: ChainTransaction, txIndex: number, matches: Matches): void {
    // One object for all events of the transaction: a block has thousands.
    const subject: Subject = { transaction, txIndex, event: null, next: null };
    const { type } = transaction.payload;
    if (type === 'smart_contract') this.#lookUp('contract_deploy', subject, matches);
    else if (type === 'coinbase' || type === 'tenure_change' || type === 'contract_call') {
      this.#lookUp(type, subject, matches);
    }
    for (const next of transaction.events) {
      subject.next = next;
      this.#event(subject, matches);
      subject.event = next;
    }
    subject.next = null;
    this.#event(subject, matches);
    subject.event = null;
    this.#balanceChanges(subject, matches);
  }

  #event(subject: Subject, matches: Matches): void {
    const { event } = subject;
    if (event === null || event.kind === 'stx_lock' || event.kind === 'unknown') return;
    if (event.kind === 'contract_log') {
      this.#lookUp('contract_log', subject, matches);
    } else {
      this.#lookUp(anyAction[event.kind], subject, matches);
      this.#lookUp(ofAction[event.kind][event.action], subject, matches);
    }
  }

  #lookUp(type: FilterType, subject: Subject, matches: Matches): void {
    const shapes = this.#shapes.get(type);
    if (shapes === undefined) return;
    for (const shape of shapes) {
      const key = keyOf(shape, subject);
      const hit = key === undefined ? undefined : shape.byKey.get(key);
      if (hit !== undefined) addMatches(hit, subject, matches);
    }
  }

  /**
   * Matches balance changes of a transaction: the parties of its asset events, and the payer of a fee above zero, even if the
   * transaction failed. A transfer to oneself counts; locks, calls and nonces don't.
   */
  #balanceChanges(subject: Subject, matches: Matches): void {
    const { fee, sender, sponsor, events } = subject.transaction;
    for (const { byKey } of this.#shapes.get('balance_change') ?? []) {
      const matchParty = (principal: string | null): void => {
        const hit = principal === null ? undefined : byKey.get(principal);
        if (hit !== undefined) addMatches(hit, subject, matches);
      };
      if (fee > 0n) matchParty((sponsor ?? sender).address);
      for (const event of events) {
        if (event.kind === 'contract_log' || event.kind === 'stx_lock' || event.kind === 'unknown') continue;
        matchParty(event.sender);
        matchParty(event.recipient);
      }
    }
  }
}

/** Finds the transactions of a block that match: ascending indexes in {@link ownTransactions}; undefined without any. */
export type FindMatches = (block: Block) => readonly number[] | undefined;

/** Makes the function that finds the matches of one hook's conditions. */
export function matchesOf(conditions: readonly Condition[]): FindMatches {
  const onlyHook = 0;
  const matcher = new Matcher();
  matcher.set(onlyHook, conditions);
  return (block) => matcher.match(block).get(onlyHook);
}

/** The filters for any action with a kind of asset; `ofAction` has those for one action. */
const anyAction = { stx: 'stx_event', ft: 'ft_event', nft: 'nft_event' } as const;
const ofAction = {
  stx: { transfer: 'stx_transfer', mint: 'stx_mint', burn: 'stx_burn' },
  ft: { transfer: 'ft_transfer', mint: 'ft_mint', burn: 'ft_burn' },
  nft: { transfer: 'nft_transfer', mint: 'nft_mint', burn: 'nft_burn' },
} as const;

/** Adds the hooks with a condition that matches the transaction, each once. */
function addMatches(hit: Residuals, subject: Subject, matches: Matches): void {
  const { txIndex } = subject;
  for (const [hook, residuals] of hit) {
    const txIndexes = matches.get(hook);
    if (txIndexes?.at(-1) === txIndex) continue;
    if (!residuals.some((residual) => residual === null || residual(subject))) continue;
    if (txIndexes === undefined) matches.set(hook, [txIndex]);
    else txIndexes.push(txIndex);
  }
}

const parametersOf = (exact: Condition['exact']): string[] => exact.map(([parameter]) => parameter);

const keyOfValues = (exact: Condition['exact']): string => exact.map(([, value]) => value).join(SEPARATOR);

/** @param by 1 for an added key, -1 for a removed one */
function countFirst({ first }: Shape, exact: Condition['exact'], by: 1 | -1): void {
  const value = exact[0]?.[1];
  if (value === undefined) return;
  const count = (first.get(value) ?? 0) + by;
  if (count === 0) first.delete(value);
  else first.set(value, count);
}

/** The key of a subject in a shape; undefined if a value is missing or no key begins with its first value. */
function keyOf({ parameters, first }: Shape, { transaction, event }: Subject): string | undefined {
  let key = '';
  for (let index = 0; index < parameters.length; index++) {
    const value = eventValue(parameters[index] ?? '', transaction, event);
    if (value === undefined) return undefined;
    if (index === 0 && !first.has(value)) return undefined;
    key = index === 0 ? value : `${key}${SEPARATOR}${value}`;
  }
  return key;
}

/** The value of a parameter; undefined if it has none, such as the sender of a mint. */
function eventValue(parameter: string, transaction: ChainTransaction, event: ChainEvent | null): string | undefined {
  if (event === null) return payloadValue(parameter, transaction);
  switch (event.kind) {
    case 'contract_log':
      if (parameter === 'sender') return transaction.sender.address;
      return parameter === 'topic' ? event.topic : event.contractId;
    case 'stx':
      return (parameter === 'sender' ? event.sender : event.recipient) ?? undefined;
    case 'ft':
    case 'nft':
      if (parameter === 'sender') return event.sender ?? undefined;
      if (parameter === 'receiver') return event.recipient ?? undefined;
      return parameter === 'value' && event.kind === 'nft' ? toHex(event.value) : event.asset;
    case 'stx_lock':
    case 'unknown':
      return undefined;
  }
}

function payloadValue(parameter: string, { payload, sender }: ChainTransaction): string | undefined {
  switch (payload.type) {
    case 'tenure_change':
      return payload.cause;
    case 'smart_contract':
      return parameter === 'sender' ? sender.address : `${sender.address}.${payload.contractName}`;
    case 'contract_call':
      if (parameter === 'sender') return sender.address;
      return parameter === 'function_name' ? payload.functionName : payload.contractId;
    default:
      return undefined;
  }
}

const shapeWith = (shapes: readonly Shape[], names: readonly string[]): Shape | undefined =>
  shapes.find(
    ({ parameters }) => parameters.length === names.length && names.every((name, i) => name === parameters[i]),
  );
