/** Converts the engine's result of a transaction to the node's report. */
import { PREFIX } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { fromHex } from '../../codec/hex.ts';
import type { ChainEvent, ContractInterface, Cost, Execution } from '../contract.ts';
import { noCost } from '../execute.ts';
import type { EngineOutcome } from './engine.ts';

/** Thrown if the engine reported something unsupported. */
class UnknownReportError extends Error {
  override readonly name = 'UnknownReportError';
}

/** An event in the engine's report: the node's type, and its fields. */
interface ReportedEvent {
  event: string;
  data: Record<string, string>;
}

function parseEvent(text: string): ChainEvent {
  const { event, data } = JSON.parse(text) as ReportedEvent;
  const field = (name: string): string => {
    const value = data[name];
    if (typeof value !== 'string') throw new UnknownReportError(`${event} has no ${name}`);
    return value;
  };
  const amount = () => BigInt(field('amount'));
  const value = () => fromHex(field('raw_value'));
  const sender = () => field('sender');
  const recipient = () => field('recipient');
  const asset = () => field('asset_identifier');
  switch (event) {
    case 'print_event':
      return { type: 'contract_event', contract: field('contract_identifier'), value: value() };
    case 'stx_transfer_event': {
      const memo = fromHex(`0x${field('memo')}`);
      const base = { type: 'stx_transfer_event' as const, sender: sender(), recipient: recipient(), amount: amount() };
      return memo.length === 0 ? base : { ...base, memo };
    }
    case 'stx_mint_event':
      return { type: 'stx_mint_event', recipient: recipient(), amount: amount() };
    case 'stx_burn_event':
      return { type: 'stx_burn_event', sender: sender(), amount: amount() };
    case 'stx_lock_event':
      return {
        type: 'stx_lock_event',
        address: field('locked_address'),
        amount: BigInt(field('locked_amount')),
        unlockHeight: Number(field('unlock_height')),
        contract: field('contract_identifier'),
      };
    case 'ft_transfer_event':
      return { type: 'ft_transfer_event', asset: asset(), sender: sender(), recipient: recipient(), amount: amount() };
    case 'ft_mint_event':
      return { type: 'ft_mint_event', asset: asset(), recipient: recipient(), amount: amount() };
    case 'ft_burn_event':
      return { type: 'ft_burn_event', asset: asset(), sender: sender(), amount: amount() };
    case 'nft_transfer_event':
      return { type: 'nft_transfer_event', asset: asset(), sender: sender(), recipient: recipient(), value: value() };
    case 'nft_mint_event':
      return { type: 'nft_mint_event', asset: asset(), recipient: recipient(), value: value() };
    case 'nft_burn_event':
      return { type: 'nft_burn_event', asset: asset(), sender: sender(), value: value() };
    default:
      throw new UnknownReportError(`the event ${event} is unknown`);
  }
}

/** Returns the cost of a transaction from the engine's report, which also contains limits. */
function parseCost(text: string): Cost {
  const total = (JSON.parse(text) as { total?: Cost } | null)?.total;
  if (total === undefined) return noCost;
  const { read_count, read_length, runtime, write_count, write_length } = total;
  return { read_count, read_length, runtime, write_count, write_length };
}

/**
 * The engine's text for an execution error, such as `Runtime(DivisionByZero, Some([…]))`; the node reports only its
 * name.
 */
const RUNTIME = /\bRuntime\((\w+)|\b(CostBalanceExceeded|MemoryBalanceExceeded)\(/;
/** The engine's text before the message of the analysis or of the runtime. */
const ERROR_PREFIX = /^(?:Contract deployment runtime error|Call contract function error): \S+ -> (?:Runtime Error: )?/;

/** The engine's text for a missing bracket: only the note after the error. */
const OPENING = /^to match this '([({])'$/;

/** Converts the engine's error to the node's `vm_error`. */
export function toVmError(error: string): string {
  const [, runtime, exceeded] = RUNTIME.exec(error) ?? [];
  const message = error.replace(ERROR_PREFIX, '');
  const opening = OPENING.exec(message)?.[1];
  if (opening !== undefined) return `expected closing '${opening === '(' ? ')' : '}'}'`;
  return runtime ?? exceeded ?? message;
}

/** The node's report of a transaction without a result. */
const noResult = {
  status: 'abort_by_response',
  result: clarity.err(clarity.none()),
  events: [],
  cost: noCost,
  abi: null,
} satisfies Partial<Execution>;

/**
 * Converts an outcome.
 * @param isDeployment the result is then (ok true), not the value of the last expression
 * @param abi of the deployed contract
 */
export function toExecution(outcome: EngineOutcome, isDeployment: boolean, abi: ContractInterface | null): Execution {
  if (outcome.kind === 'failed') return { ...noResult, vmError: toVmError(outcome.error) };
  const result = isDeployment ? clarity.ok(clarity.bool(true)) : fromHex(outcome.result);
  const cost = parseCost(outcome.costs);
  if (!isDeployment && result[0] === PREFIX.err) {
    return { status: 'abort_by_response', result, events: [], cost, vmError: null, abi: null };
  }
  try {
    return { status: 'success', result, events: outcome.events.map(parseEvent), cost, vmError: null, abi };
  } catch (error) {
    if (!(error instanceof UnknownReportError)) throw error;
    return { ...noResult, vmError: error.message };
  }
}
