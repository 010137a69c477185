/**
 * Which hooks a block concerns. The filters of all hooks stand in one index: a transaction or event is looked up by what
 * it is, so the cost of a block grows with its events and with what matches, not with the number of hooks.
 */
import type { Block, ChainEvent, ChainTransaction } from '../chain/block.ts';
import { toHex } from '../codec/hex.ts';
import type { Condition, FilterType, Residual } from './filters.ts';

/** What remains to be looked at, by hook: many may name the same values, and each comes and goes by itself. */
type Entries = Map<number, (Residual | null)[]>;

/** Conditions of one type that name the same parameters, by the values they name. */
interface Shape {
  parameters: readonly string[];
  entries: Map<string, Entries>;
}

/** The value of a parameter that a transaction or event has; undefined where it has none, such as the sender of a mint. */
type Values = (parameter: string) => string | undefined;

/** Never in a value. */
const SEPARATOR = '\n';

/** The transactions of a block that are its own; block 1 also lists those of block 0, which no hook is notified of. */
export const ownTransactions = (block: Block): readonly ChainTransaction[] =>
  block.height === 1 ? block.transactions.filter(({ genesis }) => genesis === null) : block.transactions;

/** The transactions that match, by hook: indexes in {@link ownTransactions}, ascending. */
export type Matches = Map<number, number[]>;

/** The filters of many hooks, matched against a block in one pass over its events. */
export class Matcher {
  readonly #shapes = new Map<FilterType, Shape[]>();
  readonly #hooks = new Map<number, readonly Condition[]>();

  /** Hooks whose filters are in the index. */
  get hooks(): number {
    return this.#hooks.size;
  }

  has(hook: number): boolean {
    return this.#hooks.has(hook);
  }

  ids(): Iterable<number> {
    return this.#hooks.keys();
  }

  /** Replaces the filters of a hook. */
  set(hook: number, conditions: readonly Condition[]): void {
    this.delete(hook);
    this.#hooks.set(hook, conditions);
    for (const { type, exact, residual } of conditions) {
      const entries = this.#shape(
        type,
        exact.map(([parameter]) => parameter),
      ).entries;
      const key = exact.map(([, value]) => value).join(SEPARATOR);
      const known = entries.get(key) ?? new Map<number, (Residual | null)[]>();
      entries.set(key, known);
      const own = known.get(hook);
      if (own === undefined) known.set(hook, [residual]);
      else own.push(residual);
    }
  }

  delete(hook: number): void {
    const conditions = this.#hooks.get(hook);
    if (conditions === undefined) return;
    this.#hooks.delete(hook);
    for (const { type, exact } of conditions) {
      const shapes = this.#shapes.get(type) ?? [];
      const parameters = exact.map(([parameter]) => parameter);
      const shape = shapes.find((known) => sameNames(known.parameters, parameters));
      if (shape === undefined) continue;
      const key = exact.map(([, value]) => value).join(SEPARATOR);
      const known = shape.entries.get(key);
      known?.delete(hook);
      if (known?.size === 0) shape.entries.delete(key);
      if (shape.entries.size > 0) continue;
      shapes.splice(shapes.indexOf(shape), 1);
      if (shapes.length === 0) this.#shapes.delete(type);
    }
  }

  clear(): void {
    this.#shapes.clear();
    this.#hooks.clear();
  }

  /** The hooks that a block concerns; nothing is decoded for it. */
  match(block: Block): Matches {
    const matches: Matches = new Map();
    if (this.#shapes.size === 0) return matches;
    for (const [txIndex, transaction] of ownTransactions(block).entries())
      this.#transaction(transaction, txIndex, matches);
    return matches;
  }

  #shape(type: FilterType, parameters: readonly string[]): Shape {
    const shapes = this.#shapes.get(type);
    if (shapes === undefined) {
      const shape: Shape = { parameters, entries: new Map() };
      this.#shapes.set(type, [shape]);
      return shape;
    }
    const known = shapes.find((shape) => sameNames(shape.parameters, parameters));
    if (known !== undefined) return known;
    const shape: Shape = { parameters, entries: new Map() };
    shapes.push(shape);
    return shape;
  }

  #transaction(transaction: ChainTransaction, txIndex: number, matches: Matches): void {
    const found = (type: FilterType, values: Values, event: ChainEvent | null) =>
      this.#look(type, values, transaction, event, txIndex, matches);
    const { payload, sender } = transaction;
    switch (payload.type) {
      case 'coinbase':
        found('coinbase', noValues, null);
        break;
      case 'tenure_change':
        found('tenure_change', () => payload.cause, null);
        break;
      case 'smart_contract':
        found(
          'contract_deploy',
          (name) => (name === 'sender' ? sender.address : `${sender.address}.${payload.contractName}`),
          null,
        );
        break;
      case 'contract_call':
        found('contract_call', (name) => callValue(name, payload, sender.address), null);
        break;
    }
    for (const event of transaction.events) this.#event(event, sender.address, found);
    if (this.#shapes.has('balance_change')) {
      for (const principal of changedBalances(transaction)) found('balance_change', () => principal, null);
    }
  }

  #event(
    event: ChainEvent,
    origin: string,
    found: (type: FilterType, values: Values, event: ChainEvent) => void,
  ): void {
    switch (event.kind) {
      case 'contract_log':
        found('contract_log', (name) => logValue(name, event, origin), event);
        return;
      case 'stx': {
        found('stx_event', noValues, event);
        found(
          `stx_${event.action}`,
          (name) => (name === 'sender' ? event.sender : event.recipient) ?? undefined,
          event,
        );
        return;
      }
      case 'ft': {
        const values: Values = (name) =>
          (name === 'sender' ? event.sender : name === 'receiver' ? event.recipient : event.asset) ?? undefined;
        found('ft_event', values, event);
        found(`ft_${event.action}`, values, event);
        return;
      }
      case 'nft': {
        const values: Values = (name) => {
          if (name === 'value') return toHex(event.value);
          return (name === 'sender' ? event.sender : name === 'receiver' ? event.recipient : event.asset) ?? undefined;
        };
        found('nft_event', values, event);
        found(`nft_${event.action}`, values, event);
        return;
      }
      case 'stx_lock':
        return;
    }
  }

  #look(
    type: FilterType,
    values: Values,
    transaction: ChainTransaction,
    event: ChainEvent | null,
    txIndex: number,
    matches: Matches,
  ): void {
    const shapes = this.#shapes.get(type);
    if (shapes === undefined) return;
    for (const { parameters, entries } of shapes) {
      const key = keyOf(parameters, values);
      const hit = key === undefined ? undefined : entries.get(key);
      if (hit === undefined) continue;
      for (const [hook, residuals] of hit) {
        const txIndexes = matches.get(hook);
        if (txIndexes?.at(-1) === txIndex) continue;
        if (!residuals.some((residual) => residual === null || residual(transaction, event))) continue;
        if (txIndexes === undefined) matches.set(hook, [txIndex]);
        else txIndexes.push(txIndex);
      }
    }
  }
}

const noValues: Values = () => undefined;

function keyOf(parameters: readonly string[], values: Values): string | undefined {
  let key = '';
  for (const [index, parameter] of parameters.entries()) {
    const value = values(parameter);
    if (value === undefined) return undefined;
    key = index === 0 ? value : `${key}${SEPARATOR}${value}`;
  }
  return key;
}

const sameNames = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, index) => name === b[index]);

function callValue(
  name: string,
  { contractId, functionName }: { contractId: string; functionName: string },
  origin: string,
): string {
  if (name === 'sender') return origin;
  return name === 'function_name' ? functionName : contractId;
}

function logValue(name: string, event: Extract<ChainEvent, { kind: 'contract_log' }>, origin: string): string {
  if (name === 'sender') return origin;
  return name === 'topic' ? event.topic : event.contractId;
}

/**
 * Whose balances a transaction changes: the parties of its asset events, and who pays a fee above zero, though the
 * transaction failed. A transfer to oneself counts; locks, being called and used nonces don't.
 */
function changedBalances({ events, fee, sender, sponsor }: ChainTransaction): Set<string> {
  const principals = new Set<string>();
  if (fee > 0n) principals.add((sponsor ?? sender).address);
  for (const event of events) {
    if (event.kind === 'contract_log' || event.kind === 'stx_lock') continue;
    if (event.sender !== null) principals.add(event.sender);
    if (event.recipient !== null) principals.add(event.recipient);
  }
  return principals;
}
