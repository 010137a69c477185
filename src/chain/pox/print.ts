/**
 * What the stacking contracts print, as far as all of them are alike. For pox-2 to pox-4 the node makes the print,
 * `(ok {name, stacker, …, data: {…}})`; pox-5 prints a tuple with a `topic` itself. pox prints nothing of the kind.
 */
import type { BitcoinNetwork } from '../../codec/bitcoin-address.ts';
import { decodeClarity } from '../../codec/clarity.ts';
import type { ChainEvent } from '../block.ts';
import { type Tuple, tupleOf } from './fields.ts';

export interface PoxPrint {
  /** The contract's name, such as `pox-3`. */
  contractName: string;
  /** The network whose spelling of Bitcoin addresses is used: regtest for every chain but mainnet. */
  network: BitcoinNetwork;
  /** The name of the operation, such as `stack-stx`; for pox-5, the topic. */
  name: string;
  stacker: string | null;
  /** All of the print. */
  fields: Tuple;
  /** The fields that are specific to `name`, where the print has them in a tuple of their own; otherwise empty. */
  data: Tuple;
}

/** The contracts of mainnet and of every other chain. */
const POX_CONTRACT = /^(SP000000000000000000002Q6VF78|ST000000000000000000002AMW42H)\.(pox(?:-[2-5])?)$/;

/** The name of the stacking contract that printed an event, and its network; null for any other event. */
export function printingPox(event: ChainEvent): { contractName: string; network: BitcoinNetwork } | null {
  if (event.kind !== 'contract_log' || event.topic !== 'print') return null;
  const match = POX_CONTRACT.exec(event.contractId);
  if (match === null) return null;
  return { contractName: match[2] ?? '', network: match[1]?.startsWith('SP') ? 'mainnet' : 'regtest' };
}

/** The print of an event; null for any other event, and for what has neither form. */
export function poxPrint(event: ChainEvent): PoxPrint | null {
  const printing = printingPox(event);
  if (printing === null || event.kind !== 'contract_log') return null;
  const decoded = decodeClarity(event.value);
  if (!decoded.ok) return null;
  const { value } = decoded;
  const topic = tupleOf(value)?.get('topic');
  if (value.type === 'tuple' && topic?.type === 'string-ascii') {
    return { ...printing, name: topic.value, stacker: null, fields: value.value, data: new Map() };
  }
  const fields = value.type === 'ok' ? tupleOf(value.value) : null;
  const name = fields?.get('name');
  if (fields === null || name?.type !== 'string-ascii') return null;
  const stacker = fields.get('stacker');
  return {
    ...printing,
    name: name.value,
    stacker: stacker?.type === 'principal' ? stacker.value : null,
    fields,
    data: tupleOf(fields.get('data')) ?? new Map(),
  };
}
