/** Logs and calls of contracts by decoded values. Stackside's own routes. */
import { Type } from '@sinclair/typebox';
import { exactJson } from '../../base/json.ts';
import { nearestName } from '../../base/nearest-name.ts';
import { typedArguments } from '../../codec/abi.ts';
import { toHex } from '../../codec/hex.ts';
import { ConditionError, conditionOf } from '../../codec/value-condition.ts';
import { ParameterError, requireFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { requireWholeHistory } from '../../http/history.ts';
import { cursorList, cursorQuery, UncountedCursorPage } from '../../http/pagination.ts';
import { textsUnder } from '../../http/parameters.ts';
import { route } from '../../http/route.ts';
import type {
  ContractFunctions,
  FieldFilter,
  FoundCall,
  FoundLog,
  LoggingContracts,
} from '../../store/model/contract.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { ClarityPair, clarity, fields, Hash, Height, IsoTime, isoTime, nullable, object } from '../shared/fields.ts';
import { AddressParameter, ContractParameter, inOrder, parseWindow, windowQuery } from '../shared/parameters.ts';
import { Status } from '../shared/transaction-parts.ts';

/** Limits of a request: names, conditions of a name, and characters of a name. */
const MAX_NAMES = 8;
const MAX_CONDITIONS = 4;
const MAX_NAME = 1_024;

const GRAMMAR =
  'A condition is a value, which must be equal, or an operator before it: `eq:`, `gt:`, `gte:`, `lt:`, `lte:`, or `between:` with two integers and a comma between them. A value is written `1000` (an integer of either type), `u1000` (unsigned), `true`, `false`, `none`, `SP…` (a principal), `0x…` (a serialized Clarity value), `"text"`, or any other text for a string. A repeated parameter must meet all its conditions.';

/** Creates the documented schema of parameters with names that clients choose. @param what describes the names */
const conditionParameter = (what: string) =>
  Type.Optional(Type.String({ description: `${what} ${GRAMMAR}`, examples: ['gte:1000'] }));

/**
 * The conditions of a query in parameters with a prefix.
 * @param target path and query
 * @throws ParameterError with the parameter and the rule it breaks
 */
function conditionsUnder(target: string, prefix: string): FieldFilter[] {
  const texts = textsUnder(target, prefix);
  if (texts.size > MAX_NAMES) {
    const parameter = { location: 'querystring', path: [prefix] } as const;
    throw new ParameterError(parameter, `must NOT have more than ${MAX_NAMES} names`);
  }
  return [...texts].map(([named, value]) => {
    const path = named.slice(prefix.length + 1);
    const refuse = (rule: string) => new ParameterError({ location: 'querystring', path: [named] }, rule);
    if (named.includes('..') || named.endsWith('.')) throw refuse('must have a name after each dot');
    if (path.length > MAX_NAME) throw refuse(`must NOT have a name of more than ${MAX_NAME} characters`);
    if (value.length > MAX_CONDITIONS) throw refuse(`must NOT be given more than ${MAX_CONDITIONS} times`);
    return { path, named, conditions: value.map((text) => parseCondition(text, refuse)) };
  });
}

function parseCondition(text: string, refuse: (rule: string) => ParameterError) {
  try {
    return conditionOf(text);
  } catch (error) {
    if (error instanceof ConditionError) throw refuse(error.rule);
    throw error;
  }
}

const place = fields<{ height: number; time: number; txId: Uint8Array }>()({
  block_height: [Height, ({ height }) => height],
  time: [IsoTime, ({ time }) => isoTime(time)],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
});

const logFields = fields<FoundLog>()({
  ...place,
  event_index: [Type.Integer({ minimum: 0 }), ({ eventIndex }) => eventIndex],
  topic: [Type.String(), ({ topic }) => topic],
  value: [ClarityPair, ({ value }) => clarity(value)],
});
const [Log, log] = object<FoundLog>('FoundContractLog')(logFields);
const [ListedContractLog, listedLog] = object<FoundLog>('ListedContractLog')({
  contract_id: [Type.String(), ({ contractId }) => contractId],
  ...logFields,
});

const [Call, call] = object<FoundCall, [functions: ContractFunctions | undefined]>('FoundContractCall')({
  ...place,
  sender: [Type.String(), ({ sender }) => sender],
  sponsor: [nullable(Type.String()), ({ sponsor }) => sponsor],
  status: [Status, ({ status }) => status],
  function_name: [Type.String(), ({ functionName }) => functionName],
  function_args: [
    Type.Array(
      Type.Object({
        name: Type.String({ description: 'Name in the interface of the contract; empty if the interface is unknown' }),
        type: Type.String(),
        hex: Type.String(),
        repr: Type.String(),
      }),
    ),
    ({ functionArgs, functionName }, functions) => typedArguments(functionArgs, functions?.get(functionName)),
  ],
  result: [ClarityPair, ({ result }) => clarity(result)],
});

/** An argument by its index, which is its only name if the interface is unknown. */
const ARGUMENT_INDEX = /^[0-9]{1,3}$/;

/** Returns the field of an argument by its name or index. @throws ApiError if the function is unknown or lacks the argument */
function resolveArgument(
  filter: FieldFilter,
  name: string | undefined,
  functions: ContractFunctions | undefined,
  read: Reader,
): FieldFilter {
  const refuse = (rule: string) => new ParameterError({ location: 'querystring', path: [filter.named] }, rule);
  if (name === undefined) throw refuse('must be given with function_name, since a function names its arguments');
  const [first = '', ...rest] = filter.path.split('.');
  const pathOf = (position: number) => [name, position, ...rest].join('.');
  const declaredArgs = functions?.get(name)?.args;
  const index = ARGUMENT_INDEX.test(first) ? Number(first) : null;
  if (index !== null && (declaredArgs === undefined || index < declaredArgs.length))
    return { ...filter, path: pathOf(index) };
  if (declaredArgs === undefined) {
    if (functions === undefined) requireWholeHistory(read);
    throw refuse(`must name an argument by its place, such as arg.0: no interface of the contract declares ${name}`);
  }
  const position = declaredArgs.findIndex((arg) => arg.name === first);
  if (position >= 0) return { ...filter, path: pathOf(position) };
  const parameters = declaredArgs.map((arg) => `arg.${arg.name}`).join(', ');
  throw refuse(
    `must name an argument of ${name}${parameters === '' ? ', a function without arguments' : `: ${parameters}`}`,
  );
}

const UNKNOWN = 'Smart contract not found';

/**
 * Explains why no page of a list has items, if the contract or the name of its function is wrong.
 * @throws ApiError 404 for a contract that isn't on the chain, 400 for a function that its interface doesn't declare
 */
function requireDeclared(read: Reader, contractId: string, functionName?: string): void {
  const functions = read.contracts.functions(contractId)?.functions;
  if (functions === undefined && read.chain.historyFrom() === null)
    requireFound(read.contracts.find(contractId), UNKNOWN);
  if (functions === undefined || functionName === undefined || functions.has(functionName)) return;
  const similar = nearestName(functionName, [...functions.keys()]);
  const hint = similar === null ? '' : `: did you mean ${similar}?`;
  throw new ParameterError(
    { location: 'querystring', path: ['function_name'] },
    `must name a function of the contract${hint}`,
  );
}

const common = { tag: 'Stackside', params: { contract_id: ContractParameter }, etag: chainTip, long: true };

const COST =
  'A list by indexed values is fast at any length. Other values are searched only if there are at most 1,000 items between the heights; otherwise the answer is 400, and explains how to index them.';

const logQuery = {
  ...cursorQuery,
  topic: Type.Optional(
    Type.String({ maxLength: 128, description: 'Topic of the log; contracts print with `print`', examples: ['print'] }),
  ),
  ...windowQuery,
};

const callQuery = {
  ...cursorQuery,
  function_name: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Name of the function', examples: ['transfer'] }),
  ),
  status: Type.Optional(Type.Array(Status, { description: 'Statuses of the call; any of them matches' })),
  ...windowQuery,
};

/** Maximum contracts in one request for their contract events. */
const MAX_CONTRACTS = 20;

const logsQuery = {
  ...cursorQuery,
  contract_id: Type.Optional(
    Type.Array(ContractParameter, {
      maxItems: MAX_CONTRACTS,
      description: `Contract identifiers, at most ${MAX_CONTRACTS}, as repeated keys or separated by commas`,
    }),
  ),
  deployer: Type.Optional(AddressParameter),
  topic: logQuery.topic,
  sender: Type.Optional(AddressParameter),
  function_name: callQuery.function_name,
  ...windowQuery,
};

/** Returns the contracts or the deployer of a request. @throws ParameterError unless it gives exactly one of the two */
function loggingContracts(contracts: readonly string[] | undefined, deployer: string | undefined): LoggingContracts {
  const refuse = (name: string, rule: string) => new ParameterError({ location: 'querystring', path: [name] }, rule);
  if (deployer === undefined) {
    if (contracts === undefined) throw refuse('contract_id', 'must be given if there is no deployer');
    return { contracts: [...new Set(contracts)].sort() };
  }
  if (contracts !== undefined) throw refuse('deployer', 'must NOT be given together with contract_id');
  return { deployer };
}

const FIELD =
  'Condition on a field of the printed tuple; a field inside another is written with a dot (`field.data.amount`), and `field` without a name is the printed value itself.';

export const contractSearch = [
  route({
    path: '/stackside/v1/logs',
    operationId: 'searchLogs',
    summary: 'Logs of several contracts',
    description: `Returns the print events of contracts on the canonical chain, in one list: up to ${MAX_CONTRACTS} contracts by \`contract_id\`, or all that \`deployer\` deployed or will deploy. Give one of the two. \`sender\` is the origin of the transaction, and \`function_name\` the function that the transaction called, of any contract. An answer reads at most 10,000 logs in each direction, or 2,000 if it compares fields: it may have fewer results than \`limit\`, or none, even if there is a next page. Rare events are found at once by a \`sender\` of few transactions, by a function of few calls, and by equality with a field that the operator indexes (\`--log-index\`). For a deployer with more than 1,000 contracts that printed, it reads 10,000 events of the whole chain.`,
    tag: 'Stackside',
    query: logsQuery,
    described: { query: { ...logsQuery, 'field.NAME': conditionParameter(FIELD) } },
    response: UncountedCursorPage(ListedContractLog),
    etag: chainTip,
    history: 'since',
    long: true,
    handle: async ({ query, target, read }) => {
      const { limit, cursor, contract_id, deployer, topic = null, sender = null, order = 'desc', ...others } = query;
      const { function_name: functionName = null, ...window } = others;
      const loggers = loggingContracts(contract_id, deployer);
      const fields = conditionsUnder(target, 'field');
      // A cursor is valid for the list of its conditions only.
      const name = inOrder(`logs ${exactJson({ of: loggers, topic, sender, functionName, fields, ...window })}`, order);
      const heights = read.chain.heightsOf(parseWindow(window));
      const filter = { contracts: loggers, topic, sender, functionName, order, heights, fields };
      const list = cursorList(name, { limit, cursor });
      return list.page(await read.contracts.walkLogs(filter, ...list.start), listedLog);
    },
  }),
  route({
    ...common,
    path: '/stackside/v1/smart-contracts/{contract_id}/logs',
    operationId: 'searchContractLogs',
    summary: 'Logs of a contract by decoded values',
    description: `Returns the print events of a contract on the canonical chain by the fields of the printed values. ${COST}`,
    query: logQuery,
    described: { query: { ...logQuery, 'field.NAME': conditionParameter(FIELD) } },
    response: UncountedCursorPage(Log),
    notFound: UNKNOWN,
    history: 'since',
    handle: async ({ params: { contract_id }, query, target, read }) => {
      const { topic = null, order = 'desc' } = query;
      const heights = read.chain.heightsOf(parseWindow(query));
      const filter = { topic, order, heights, fields: conditionsUnder(target, 'field') };
      const list = cursorList(inOrder(`contract-log-search ${contract_id}`, order), query);
      const page = await read.contracts.searchLogs(contract_id, filter, ...list.start);
      if (page.items.length === 0 && query.cursor === undefined) requireDeclared(read, contract_id);
      return list.page(page, log);
    },
  }),
  route({
    ...common,
    path: '/stackside/v1/smart-contracts/{contract_id}/calls',
    operationId: 'searchContractCalls',
    summary: 'Calls of a contract by function and arguments',
    description: `Returns transactions of the canonical chain that call a contract, including failed ones. Calls between contracts are not included. ${COST}`,
    query: callQuery,
    described: {
      query: {
        ...callQuery,
        'arg.NAME': conditionParameter(
          'Condition on an argument of the function that `function_name` names, by its name in the interface of the contract or by its place, counted from 0 (`arg.0`); a field inside it is written with a dot.',
        ),
      },
    },
    response: UncountedCursorPage(Call),
    notFound: UNKNOWN,
    history: 'since',
    handle: async ({ params: { contract_id }, query, target, read }) => {
      const { function_name, status, order = 'desc' } = query;
      const functions = read.contracts.functions(contract_id)?.functions;
      const filter = {
        functionName: function_name ?? null,
        statuses: status ?? null,
        order,
        heights: read.chain.heightsOf(parseWindow(query)),
        fields: conditionsUnder(target, 'arg').map((field) => resolveArgument(field, function_name, functions, read)),
      };
      const list = cursorList(inOrder(`contract-call-search ${contract_id}`, order), query);
      const page = await read.contracts.searchCalls(contract_id, filter, ...list.start);
      if (page.items.length === 0 && query.cursor === undefined) requireDeclared(read, contract_id, function_name);
      return list.page(page, (item) => call(item, functions));
    },
  }),
];
