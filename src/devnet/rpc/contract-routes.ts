/** Contracts as a node gives them: their interface, their source, and what is read of them. */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { principalBytes } from '../../codec/address.ts';
import { type ClarityValue, decodeClarity } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { toHex } from '../../codec/hex.ts';
import { isOfType } from '../arguments.ts';
import type { ContractTemplate, ReadContext } from '../contract.ts';
import { hexBytes, jsonOf, RpcError, type RpcRequest, type RpcRoute, withProof } from './rpc-route.ts';

const NO_CLARITY = 'The simulated node executes no Clarity';

interface Found {
  readonly context: ReadContext;
  readonly template: ContractTemplate;
  readonly height: number;
}

/** The contract that the path names; undefined where there is none. */
function contractOf({ block: { world, burnView }, params: [address = '', name = ''] }: RpcRequest): Found | undefined {
  const contract = `${address}.${name}`;
  const deployed = world.contract(contract);
  if (deployed === undefined) return undefined;
  return {
    context: { world, contract, burnHeight: burnView.height },
    template: deployed.template,
    height: deployed.height,
  };
}

function required(asked: RpcRequest, what: string): Found {
  const found = contractOf(asked);
  if (found === undefined) throw new RpcError(404, `No contract ${what} found`);
  return found;
}

/** One of what a contract has by name. */
function named<T>(all: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return all !== undefined && Object.hasOwn(all, name) ? all[name] : undefined;
}

function decodedArgument(text: unknown): ClarityValue {
  const value = decodeClarity(hexBytes(text, 'An argument'));
  if (!value.ok) throw new RpcError(400, `Failed to deserialize an argument: ${value.error.message}`);
  return value.value;
}

function source(asked: RpcRequest) {
  const { template, height } = required(asked, 'source data');
  return withProof({ source: template.source, publish_height: height }, asked.query, 'proof');
}

const ReadOnlyCall = Type.Object({ sender: Type.String(), arguments: Type.Array(Type.String()) });

async function callRead(asked: RpcRequest) {
  const body = await jsonOf(asked.request);
  if (!Value.Check(ReadOnlyCall, body)) throw new RpcError(400, 'The body must have sender and arguments');
  if (principalBytes(body.sender) === null) throw new RpcError(400, 'sender is not a principal');
  const args = body.arguments.map(decodedArgument);
  const found = contractOf(asked);
  const [address, name, functionName = ''] = asked.params;
  const failed = (cause: string) => ({ okay: false, cause });
  if (found === undefined) return failed(`Unchecked(NoSuchContract("${address}.${name}"))`);
  const { context, template } = found;
  const declared = template.abi.functions.find((one) => one.name === functionName && one.access !== 'private');
  if (declared === undefined) {
    return failed(
      template.isPartial === true
        ? `The simulated node doesn't have the function ${functionName} of ${name}`
        : `Unchecked(UndefinedFunction("${functionName}"))`,
    );
  }
  if (declared.access === 'public') return failed('NotReadOnly');
  if (args.length !== declared.args.length) {
    return failed(`Unchecked(IncorrectArgumentCount(${declared.args.length}, ${args.length}))`);
  }
  const wrong = args.findIndex((value, at) => !isOfType(value, declared.args[at]!.type));
  if (wrong >= 0) return failed(`Unchecked(TypeValueError(${JSON.stringify(declared.args[wrong]!.type)}, …))`);
  const run = named(template.reads, functionName);
  if (run === undefined) return failed(`${NO_CLARITY}, and ${functionName} is not one of its own functions`);
  return { okay: true, result: toHex(run(context, args)) };
}

async function mapEntry(asked: RpcRequest) {
  const key = hexBytes(await jsonOf(asked.request), 'The key');
  const decoded = decodeClarity(key);
  if (!decoded.ok) throw new RpcError(400, `Failed to deserialize the key: ${decoded.error.message}`);
  const { context, template } = required(asked, 'map');
  const map = named(template.maps, asked.params[2] ?? '');
  if (map === undefined) throw new RpcError(404, 'Data map not found');
  const value = map(context, key);
  return withProof({ data: toHex(value === undefined ? clarity.none() : clarity.some(value)) }, asked.query, 'proof');
}

/** Whether the interface names a variable or constant, whose value may be the result of an expression. */
const isDeclared = ({ abi }: ContractTemplate, access: 'constant' | 'variable', wanted: string): boolean =>
  abi.variables.some((variable) => variable.access === access && variable.name === wanted);

function variable(asked: RpcRequest) {
  const { context, template } = required(asked, 'data');
  const name = asked.params[2] ?? '';
  const value = named(template.variables, name);
  if (value !== undefined) return withProof({ data: toHex(value(context)) }, asked.query, 'proof');
  if (!isDeclared(template, 'variable', name)) throw new RpcError(404, 'Data var not found');
  throw new RpcError(501, `${NO_CLARITY}, and ${name} is made by an expression`);
}

function constant(asked: RpcRequest) {
  const { template } = required(asked, 'data');
  const name = asked.params[2] ?? '';
  const value = named(template.constants, name);
  if (value !== undefined) return { data: toHex(value) };
  if (!isDeclared(template, 'constant', name)) throw new RpcError(404, 'Constant not found');
  throw new RpcError(501, `${NO_CLARITY}, and ${name} is made by an expression`);
}

export const contractRoutes: readonly RpcRoute[] = [
  {
    method: 'GET',
    path: '/v2/contracts/interface/*/*',
    answer: (asked) => required(asked, 'interface data').template.abi,
  },
  { method: 'GET', path: '/v2/contracts/source/*/*', answer: source },
  { method: 'POST', path: '/v2/contracts/call-read/*/*/*', answer: callRead },
  { method: 'POST', path: '/v2/map_entry/*/*/*', answer: mapEntry },
  { method: 'GET', path: '/v2/data_var/*/*/*', answer: variable },
  { method: 'GET', path: '/v2/constant_val/*/*/*', answer: constant },
];
