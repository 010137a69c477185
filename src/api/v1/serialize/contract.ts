import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import { payloadOf } from '../../../codec/transaction.ts';
import type { ContractDeployment } from '../../../store/model/contract.ts';
import type { Contract } from '../schemas/contract.ts';

/**
 * JSON text with the members of objects in the order in which PostgreSQL keeps them: shorter names first, then by their
 * bytes. Clients compare interfaces as texts.
 */
function orderedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(orderedJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => ({ name, bytes: Buffer.from(name), member }));
  members.sort((a, b) => a.bytes.length - b.bytes.length || Buffer.compare(a.bytes, b.bytes));
  return `{${members.map(({ name, member }) => `${JSON.stringify(name)}:${orderedJson(member)}`).join(',')}}`;
}

/** A deployed contract with its source and interface. */
export const contract = (of: ContractDeployment): Static<typeof Contract> => ({
  tx_id: toHex(of.txId),
  canonical: of.canonical,
  contract_id: of.contractId,
  block_height: of.height,
  clarity_version: of.clarityVersion,
  source_code: payloadOf(of.raw, 'smart_contract').source,
  abi: of.contractInterface === null ? null : orderedJson(JSON.parse(of.contractInterface)),
});
