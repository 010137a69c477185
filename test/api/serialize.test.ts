/** Serializers of data that the simulated chain of the examples lacks; docs.test.ts compares all other members and their order. */
import { describe, expect, test } from 'bun:test';
import { stxBalance } from '../../src/api/v3/principals.ts';
import { nftMove, stxTransfer } from '../../src/api/v3/tokens.ts';
import { fullTransaction, type includable, pendingSummary, transactionSummary } from '../../src/api/v3/transaction.ts';
import { transactionEvent } from '../../src/api/v3/transactions.ts';
import type {
  PendingTransactionDetail,
  SummaryPayload,
  TransactionDetail,
  TransactionEvent,
} from '../../src/store/model/transaction.ts';
import { ADDRESS, bytes, CONTRACT, hash, OTHER } from './sample-chain.ts';

const hexBytes = (hex: string) => Uint8Array.fromHex(hex.replaceAll(/\s|0x/g, ''));
/** The value u3, serialized. */
const value = hexBytes('01 00000000000000000000000000000003');

const common = {
  txId: bytes(1),
  sender: { address: ADDRESS, nonce: 5n },
  sponsor: null,
  fee: '75',
  payload: { type: 'token_transfer', recipient: OTHER, amount: '100', memo: null },
  raw: new Uint8Array([0]),
} as const;
const detail: TransactionDetail = {
  ...common,
  txIndex: 0,
  status: 'success',
  block: { height: 1, hash: bytes(0xb1), indexHash: bytes(0xc1), time: 1000 },
  burnBlock: { height: 101, time: 990 },
  canonical: true,
  microblock: null,
  anchorMode: 3,
  parentBlock: { hash: bytes(0xb0), indexHash: bytes(0xc0) },
  parentBurnBlockTime: 0,
  eventCount: 3,
  cost: { readCount: 1, readLength: 2, runtime: 3, writeCount: 4, writeLength: 5 },
  vmError: null,
  result: hexBytes('0703'),
  postConditions: hexBytes('02 00000000'),
  functionArgs: null,
};
const pendingDetail: PendingTransactionDetail = {
  ...common,
  status: 'pending',
  receiptTime: 9,
  receiptBlockHeight: 3,
  replacedByTxId: null,
};

/** A transaction of an all-zero account around a payload. */
function raw(payload: string, postConditions = '02 00000000'): Uint8Array {
  const condition = `00 ${'00'.repeat(20)} ${'00'.repeat(8)} ${'00'.repeat(8)} 00 ${'00'.repeat(65)}`;
  return hexBytes(`00 00000001 04 ${condition} 03 ${postConditions} ${payload}`);
}

const text = (value: unknown) => JSON.stringify(value);
const transferOf = (memo: string) =>
  `"type":"token_transfer","token_transfer":{"recipient":"${OTHER}","amount":"1","memo":${memo}}`;

/** Payloads with their JSON, which may be shorter while the transaction is pending. */
const bodies: [SummaryPayload, mined: string, pending?: string][] = [
  [{ type: 'token_transfer', recipient: OTHER, amount: '1', memo: null }, transferOf('null')],
  [
    { type: 'token_transfer', recipient: OTHER, amount: '1', memo: new Uint8Array() },
    transferOf('{"hex":"0x","repr":""}'),
  ],
  [
    { type: 'smart_contract', contractId: CONTRACT, clarityVersion: null },
    `"type":"smart_contract","smart_contract":{"clarity_version":null,"contract_id":"${CONTRACT}"}`,
  ],
  [
    { type: 'contract_call', contractId: CONTRACT, functionName: 'do-it' },
    `"type":"contract_call","contract_call":{"contract_id":"${CONTRACT}","function_name":"do-it"}`,
  ],
  [{ type: 'poison_microblock' }, '"type":"poison_microblock"'],
  [
    { type: 'coinbase', altRecipient: null },
    '"type":"coinbase","coinbase":{"alt_recipient":null}',
    '"type":"coinbase"',
  ],
  [
    { type: 'tenure_change', cause: 'extended' },
    '"type":"tenure_change","tenure_change":{"cause":"extended"}',
    '"type":"tenure_change"',
  ],
];

test.each(bodies.map(([payload, mined, pending = mined]) => [mined, pending, payload] as const))(
  'a summary with %s',
  (mined, pending, payload) => {
    expect(text(transactionSummary({ ...detail, payload }))).toEndWith(`"success",${mined}}`);
    expect(text(pendingSummary({ ...pendingDetail, payload }))).toEndWith(`"pending",${pending}}`);
  },
);

describe('a full transaction', () => {
  const mined = (change: object, include: (typeof includable)[number][] = []) =>
    text(fullTransaction({ mined: true, transaction: { ...detail, ...change } }, include));
  const waiting = (change: object, include: (typeof includable)[number][] = []) =>
    text(fullTransaction({ mined: false, transaction: { ...pendingDetail, ...change } }, include));

  test('keeps costs beyond 2^53 exact', () => {
    const cost = { readCount: 1, readLength: 2, runtime: 9007199254740993n, writeCount: 4n, writeLength: 5 };
    expect(mined({ cost })).toContain('"runtime":9007199254740993,"write_count":4,');
  });

  test('that deploys a contract, with and without its source', () => {
    const payload = { type: 'smart_contract', contractId: CONTRACT, clarityVersion: 2 };
    const empty = raw('06 02 04 706f6f6c 00000000');
    const bytes = raw('06 02 04 706f6f6c 00000002 3b3b');
    const open = `"smart_contract":{"clarity_version":2,"contract_id":"${CONTRACT}"`;
    for (const serialize of [mined, waiting]) {
      expect(serialize({ payload, raw: bytes })).toContain(`${open}}`);
      expect(serialize({ payload, raw: bytes }, ['source_code'])).toContain(`${open},"source_code":";;"}`);
      expect(serialize({ payload, raw: empty }, ['source_code'])).toContain(`${open},"source_code":""}`);
    }
  });

  test('that calls a contract, with and without its arguments', () => {
    const payload = { type: 'contract_call', contractId: CONTRACT, functionName: 'f' };
    const bytes = raw(`02 16 ${'00'.repeat(20)} 01 61 01 66 00000002 03 09`);
    const open = `"contract_call":{"contract_id":"${CONTRACT}","function_name":"f"`;
    const args = '"function_args":[{"hex":"0x03","repr":"true"},{"hex":"0x09","repr":"none"}]';
    for (const serialize of [mined, waiting]) {
      expect(serialize({ payload, raw: bytes })).toContain(`${open}}`);
      expect(serialize({ payload, raw: bytes }, ['function_args'])).toContain(`${open},${args}}`);
    }
    const bitcoin = { payload, raw: hexBytes('00'), functionArgs: hexBytes('00000001 04') };
    expect(mined(bitcoin, ['function_args'])).toContain('"function_args":[{"hex":"0x04","repr":"false"}]');
  });

  test('with a coinbase', () => {
    const payload = { type: 'coinbase', altRecipient: null };
    const data = '11'.repeat(32);
    const proof = '22'.repeat(80);
    expect(mined({ payload, raw: raw(`04 ${data}`) })).toContain(
      `"coinbase":{"payload":"0x${data}","alt_recipient":null,"vrf_proof":null}`,
    );
    expect(mined({ payload, raw: raw(`08 ${data} 09 ${proof}`) })).toContain(`"vrf_proof":"0x${proof}"}`);
    expect(waiting({ payload, raw: raw(`04 ${data}`) })).not.toContain('"coinbase":');
  });

  test('with a tenure change', () => {
    const payload = { type: 'tenure_change', cause: 'block_found' };
    const [a, b, c, d, e] = ['11'.repeat(20), '22'.repeat(20), '33'.repeat(20), '44'.repeat(32), '55'.repeat(20)];
    expect(mined({ payload, raw: raw(`07 ${a} ${b} ${c} ${d} 00000003 00 ${e}`) })).toContain(
      `"tenure_change":{"tenure_consensus_hash":"0x${a}","prev_tenure_consensus_hash":"0x${b}","burn_view_consensus_hash":"0x${c}","previous_tenure_end":"0x${d}","previous_tenure_blocks":3,"cause":"block_found","pubkey_hash":"0x${e}"}`,
    );
  });

  test('with a poison microblock has both conflicting headers', () => {
    const payload = { type: 'poison_microblock' };
    const [first, second] = ['11'.repeat(132), '22'.repeat(132)];
    const headers = `"microblock_header_1":"0x${first}","microblock_header_2":"0x${second}"`;
    for (const serialize of [mined, waiting]) {
      expect(serialize({ payload, raw: raw(`03 ${first} ${second}`) })).toContain(
        `"type":"poison_microblock","poison_microblock":{${headers}}`,
      );
    }
  });

  test('names its replacement if it was dropped', () => {
    const change = { status: 'dropped_replace_by_fee', replacedByTxId: bytes(7) };
    expect(waiting(change)).toContain(`"status":"dropped_replace_by_fee","replaced_by_tx_id":"${hash(7)}","type":`);
    expect(waiting({})).toContain('"replaced_by_tx_id":null');
  });

  test('shows post-conditions and no result while pending', () => {
    const condition = `02 00000001 00 01 03 ${'00'.repeat(7)}05`;
    const output = waiting({ raw: raw(`04 ${'00'.repeat(32)}`, condition) }, ['post_conditions', 'result']);
    expect(output).toEndWith(
      ',"post_conditions":[{"type":"stx","condition_code":"sent_greater_than_or_equal_to","amount":"5","principal":{"type_id":"principal_origin"}}]}',
    );
  });
});

const u3 = '{"hex":"0x0100000000000000000000000000000003","repr":"u3"}';
const asset = `${CONTRACT}::candy`;
const sides = { sender: ADDRESS, recipient: OTHER };
const mint = { action: 'mint', sender: null, recipient: OTHER } as const;
const burn = { action: 'burn', sender: ADDRESS, recipient: null } as const;
const moved = `"type":"transfer","sender":"${ADDRESS}","recipient":"${OTHER}"`;
const minted = `"type":"mint","recipient":"${OTHER}"`;
const stx = { index: 0, kind: 'stx', amount: '7' } as const;
const ft = { index: 0, kind: 'ft', asset, amount: '8' } as const;
const events: [TransactionEvent, type: string, body: string][] = [
  [
    { index: 0, kind: 'contract_log', contractId: CONTRACT, topic: 'print', value },
    'contract_log',
    `"contract_id":"${CONTRACT}","topic":"print","value":${u3}`,
  ],
  [
    { index: 0, kind: 'stx_lock', address: ADDRESS, amount: '6', unlockHeight: 130, contractName: 'pox-4' },
    'stx_lock',
    `"amount":"6","unlock_bitcoin_height":130,"address":"${ADDRESS}"`,
  ],
  [{ ...stx, action: 'transfer', ...sides, memo: null }, 'stx_asset', `${moved},"amount":"7","memo":null`],
  [
    { ...stx, action: 'transfer', ...sides, memo: hexBytes('6869') },
    'stx_asset',
    `${moved},"amount":"7","memo":{"hex":"0x6869","repr":"hi"}`,
  ],
  [{ ...stx, ...mint, memo: null }, 'stx_asset', `${minted},"amount":"7"`],
  [{ ...ft, ...burn }, 'ft_asset', `"type":"burn","sender":"${ADDRESS}","asset_identifier":"${asset}","amount":"8"`],
  [{ ...ft, action: 'transfer', ...sides }, 'ft_asset', `${moved},"asset_identifier":"${asset}","amount":"8"`],
  [
    { index: 0, kind: 'nft', ...mint, asset, value },
    'nft_asset',
    `${minted},"asset_identifier":"${asset}","value":${u3}`,
  ],
];

test.each(events.map(([event, type, body]) => [type, body, event] as const))(
  'an event %s {%s}',
  (type, body, event) => {
    expect(text(transactionEvent(event))).toBe(`{"event_index":0,"type":"${type}","${type}":{${body}}}`);
  },
);

test('a balance with a lock and pending transactions', () => {
  const locked = {
    amount: 400_000n,
    poxVersion: 4,
    transaction: { txId: bytes(9), blockHeight: 3, burnBlockHeight: 4 },
    unlockHeight: 1000,
  };
  const pending = { any: true, inbound: 0n, outbound: 51_234n };
  expect(text(stxBalance({ balance: 1_000_000n, locked, pending }))).toBe(
    `{"balance":"1000000","available":"600000","locked":{"amount":"400000","pox_version":4,"lock_tx_id":"${hash(9)}","stacks_lock_height":3,"burn_lock_height":4,"burn_unlock_height":1000},"mempool":{"estimated_balance":"548766","inbound":"0","outbound":"51234"}}`,
  );
});

test('a transfer without a sender, a recipient or a memo', () => {
  const { txId, txIndex, block } = detail;
  const move = { txId, txIndex, block, eventIndex: 4, sender: ADDRESS, recipient: OTHER };
  expect(stxTransfer({ ...move, amount: '7', sender: null, memo: null })).toMatchObject({ sender: null, memo: null });
  expect(nftMove({ ...move, recipient: null })).toMatchObject({ sender: ADDRESS, recipient: null });
});
