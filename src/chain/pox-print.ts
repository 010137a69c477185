/** What the stacking contracts pox-2 to pox-4 print: `(ok {name, stacker, …, data: {…}})`. */
import { type ClarityValue, decodeClarity } from '../codec/clarity.ts';
import type { ChainEvent } from './block.ts';

type Tuple = ReadonlyMap<string, ClarityValue>;

export interface PoxPrint {
  /** The contract's name, such as `pox-3`. */
  contractName: string;
  /** What happened, such as `stack-stx`. */
  name: string;
  stacker: string | null;
  /** All of the print. */
  fields: Tuple;
  /** What is particular to `name`; empty where there is nothing. */
  data: Tuple;
}

/** The contracts of mainnet and of every other chain. */
const POX_CONTRACT = /^(?:SP000000000000000000002Q6VF78|ST000000000000000000002AMW42H)\.(pox(?:-[2-5])?)$/;

export const tupleOf = (value: ClarityValue | undefined): Tuple | null =>
  value?.type === 'tuple' ? value.value : null;

/** The print of an event; null for any other event, and for what can't be read. */
export function poxPrint(event: ChainEvent): PoxPrint | null {
  if (event.kind !== 'contract_log' || event.topic !== 'print') return null;
  const contractName = POX_CONTRACT.exec(event.contractId)?.[1];
  if (contractName === undefined) return null;
  const decoded = decodeClarity(event.value);
  if (!decoded.ok || decoded.value.type !== 'ok') return null;
  const fields = tupleOf(decoded.value.value);
  const name = fields?.get('name');
  if (fields === null || name?.type !== 'string-ascii') return null;
  const stacker = fields.get('stacker');
  return {
    contractName,
    name: name.value,
    stacker: stacker?.type === 'principal' ? stacker.value : null,
    fields,
    data: tupleOf(fields.get('data')) ?? new Map(),
  };
}
