/** Sample blocks, each with one transaction that a given filter matches. Their hashes are zeros. */
import type { AssetAction, Block, ChainEvent, ChainTransaction } from '../../src/chain/block.ts';
import type { Network } from '../../src/chain/network.ts';
import { BOOT_ADDRESS } from '../../src/codec/address.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { type TenureChangeCause, tenureChangeCauses } from '../../src/codec/payload.ts';
import type { Payload } from '../../src/codec/transaction.ts';
import { utf8Bytes } from '../../src/codec/utf8.ts';
import { literalOf, serializedForms } from '../../src/codec/value-condition.ts';
import type { Filter } from '../../src/hooks/definition/filter-schemas.ts';

const HASH = new Uint8Array(32);
const HASH20 = new Uint8Array(20);
const NO_COST = { runtime: 0, readCount: 0, readLength: 0, writeCount: 0, writeLength: 0 };

/** The parameters of a filter. */
type Values = Readonly<Record<string, unknown>>;

const textOf = (values: Values, name: string, otherwise: string): string => {
  const value = values[name];
  return typeof value === 'string' ? value : otherwise;
};

function nftValue(value: unknown): Uint8Array {
  const text = String(value ?? 1);
  if (text.startsWith('0x')) return fromHex(text);
  return text.startsWith('-') ? clarity.int(BigInt(text)) : clarity.uint(BigInt(text.replace(/^u/, '')));
}

/** Returns a memo that meets the conditions of a filter, padded to its 34 bytes. */
function memoOf(filter: Filter): Uint8Array {
  const { equals, contains = '' } = filter.type === 'stx_transfer' ? (filter.memo ?? {}) : {};
  const text = equals ?? contains;
  const bytes = new Uint8Array(34);
  bytes.set((/^0x([0-9a-f]{2})+$/i.test(text) ? fromHex(text) : utf8Bytes(text)).subarray(0, 34));
  return bytes;
}

/** Returns the arguments of a call, with the filter's argument at its position. */
function argumentsOf(filter: Filter): Uint8Array {
  if (filter.type !== 'contract_call' || filter.argument === undefined) return new Uint8Array(4);
  const { index, equals } = filter.argument;
  const [form = clarity.none()] = serializedForms(literalOf(equals));
  return encodeArguments([...Array.from({ length: index }, () => clarity.none()), form]);
}

interface Parties {
  sender: string;
  receiver: string;
  contract: string;
}

function payloadOf(filter: Filter, { receiver, contract }: Parties): Payload {
  const values: Values = filter;
  switch (filter.type) {
    case 'coinbase':
      return { type: 'coinbase', typeId: 8, data: HASH, altRecipient: null, vrfProof: new Uint8Array(80) };
    case 'tenure_change':
      return {
        type: 'tenure_change',
        typeId: 7,
        tenureConsensusHash: HASH20,
        prevTenureConsensusHash: HASH20,
        burnViewConsensusHash: HASH20,
        previousTenureEnd: HASH,
        previousTenureBlocks: 1,
        cause: causeOf(values.cause),
        pubkeyHash: HASH20,
      };
    case 'contract_deploy': {
      const contractName = contract.slice(contract.indexOf('.') + 1);
      return { type: 'smart_contract', typeId: 6, contractName, clarityVersion: 3, source: ';; a sample' };
    }
    case 'stx_event':
    case 'stx_transfer':
    case 'balance_change':
      return {
        type: 'token_transfer',
        typeId: 0,
        recipient: receiver,
        amount: BigInt(textOf(values, 'min_amount', '1')),
        memo: memoOf(filter),
      };
    default:
      return {
        type: 'contract_call',
        typeId: 2,
        contractId: contract,
        functionName: textOf(values, 'function_name', 'sample'),
        functionArgs: argumentsOf(filter),
      };
  }
}

const causeOf = (value: unknown): TenureChangeCause =>
  tenureChangeCauses.find((cause) => cause === value) ?? 'block_found';

function eventsOf(filter: Filter, { sender, receiver, contract }: Parties): ChainEvent[] {
  const values: Values = filter;
  if (filter.type === 'contract_log') {
    const text = textOf(values, 'contains', 'sample');
    const value = clarity.ascii(/^[ -~]*$/.test(text) ? text : 'sample');
    return [{ kind: 'contract_log', contractId: contract, topic: textOf(values, 'topic', 'print'), value }];
  }
  const [token, kind = 'transfer'] = filter.type === 'balance_change' ? ['stx'] : filter.type.split('_');
  const action: AssetAction = kind === 'mint' || kind === 'burn' ? kind : 'transfer';
  const parties = { sender: action === 'mint' ? null : sender, recipient: action === 'burn' ? null : receiver };
  const amount = textOf(values, 'min_amount', '1');
  const asset = textOf(values, 'asset_identifier', `${contract}::sample`);
  if (token === 'stx') return [{ kind: 'stx', action, ...parties, amount, memo: null }];
  if (token === 'ft') return [{ kind: 'ft', action, ...parties, asset, amount }];
  if (token === 'nft') return [{ kind: 'nft', action, ...parties, asset, value: nftValue(values.value) }];
  return [];
}

/** Makes block 0 with one transaction that the filter matches. @param time Unix seconds */
export function sampleBlock(filter: Filter, network: Network, time: number): Block {
  const values: Values = filter;
  const boot = BOOT_ADDRESS[network.kind];
  const contract = textOf(values, 'contract_identifier', textOf(values, 'asset_identifier', `${boot}.sample`)).split(
    '::',
  )[0]!;
  const [deployer = boot] = contract.split('.');
  const sender = textOf(
    values,
    'sender',
    textOf(values, 'principal', filter.type === 'contract_deploy' ? deployer : boot),
  );
  const parties = { sender, receiver: textOf(values, 'receiver', textOf(values, 'recipient', boot)), contract };
  const payload = payloadOf(filter, parties);
  const statuses = values.status;
  const transaction: ChainTransaction = {
    txId: HASH,
    raw: new Uint8Array(1),
    sender: { address: sender, nonce: 0n },
    sponsor: null,
    fee: filter.type === 'balance_change' ? 1n : 0n,
    chainId: network.chainId,
    anchorMode: 3,
    postConditions: fromHex('0x0200000000'),
    payload,
    bitcoinOperation: false,
    txIndex: 0,
    status: statusOf(statuses),
    result: clarity.ok(clarity.bool(true)),
    cost: NO_COST,
    vmError: null,
    contractInterface: payload.type === 'smart_contract' ? '{"functions":[]}' : null,
    microblock: null,
    events: eventsOf(filter, parties),
    genesis: null,
  };
  return {
    height: 0,
    blockHash: HASH,
    indexBlockHash: HASH,
    parentBlockHash: HASH,
    parentIndexBlockHash: HASH,
    blockTime: time,
    burnBlockHash: HASH,
    burnBlockHeight: 0,
    burnBlockTime: time,
    parentBurnBlockTime: null,
    minerTxId: HASH,
    parentMicroblockHash: HASH,
    parentMicroblockSequence: 0,
    tenureHeight: 0,
    cost: NO_COST,
    signerBits: '',
    signerSignatures: [],
    announcedTransactions: 1,
    transactions: [transaction],
    minerRewards: [],
    poxUnlockHeights: [null, null, null, null],
    rewardSet: null,
  };
}

function statusOf(status: unknown): ChainTransaction['status'] {
  const words = ['success', 'abort_by_response', 'abort_by_post_condition', 'problematic_skipped'] as const;
  const first: unknown = Array.isArray(status) ? status[0] : 'success';
  return words.find((word) => word === first) ?? 'success';
}
