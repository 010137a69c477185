/** The node's routes, which the server forwards. The OpenAPI document lacks them, so their types are here. */
import { fetchJson, RequestError, withBody } from './api.ts';

const pathOf = (route: string, contract: string, ...more: string[]): string =>
  ['/v2', route, ...contract.split('.'), ...more.map(encodeURIComponent)].join('/');

/** Returns the path of a contract's interface. Its JSON is unchecked. */
export const interfacePath = (contract: string): string => pathOf('contracts/interface', contract);

interface ContractRead {
  contract: string;
  kind: 'function' | 'variable' | 'map' | 'constant';
  name: string;
  /** Serialized values in hex: the arguments of a function, the key of a map. */
  args: readonly string[];
  /** The principal that is `tx-sender` during the call of a function. */
  sender: string;
}

type ReadResult = { hex: string; cause: null } | { hex: null; cause: string };

function requestOf({ contract, kind, name, args, sender }: ContractRead): [path: string, init: RequestInit] {
  switch (kind) {
    case 'function':
      return [pathOf('contracts/call-read', contract, name), withBody('POST', { sender, arguments: args })];
    case 'map':
      return [`${pathOf('map_entry', contract, name)}?proof=0`, withBody('POST', args[0])];
    case 'variable':
      return [`${pathOf('data_var', contract, name)}?proof=0`, {}];
    case 'constant':
      return [pathOf('constant_val', contract, name), {}];
  }
}

/** Reads from a contract at the node's tip. @throws RequestError */
export async function readContract(read: ContractRead, signal: AbortSignal): Promise<ReadResult> {
  const [path, init] = requestOf(read);
  const answer = Object(await fetchJson(path, { ...init, signal })) as Record<string, unknown>;
  const { [read.kind === 'function' ? 'result' : 'data']: hex, cause } = answer;
  if (typeof hex === 'string') return { hex, cause: null };
  if (typeof cause === 'string') return { hex: null, cause };
  throw new RequestError(0, 'The node’s answer has neither a value nor the cause of a failure.');
}
