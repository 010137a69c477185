/** Serializers: the JSON's members, their order, and exact numbers. */
import { describe, expect, test } from 'bun:test';
import {
  balanceChange,
  nonces,
  principalTransaction,
  stxBalance,
  transactionBalanceChange,
} from '../../src/api/v3/principals.ts';
import { smartContract } from '../../src/api/v3/smart-contracts.ts';
import { ftBalance, nftInstance } from '../../src/api/v3/tokens.ts';
import { fullTransaction, type includable, pendingSummary, transactionSummary } from '../../src/api/v3/transaction.ts';
import { transactionEvent } from '../../src/api/v3/transactions.ts';
import { ftTransfer, nftMove, stxTransfer } from '../../src/api/v3/transfers.ts';
import type { SummaryPayload, TransactionEvent } from '../../src/store/model/transaction.ts';
import { ADDRESS, bytes, CONTRACT, hash, NFT, OTHER, TOKEN } from './sample-chain.ts';
import {
  changesOf,
  contract,
  detail,
  ftTransfer as ftTransferSample,
  hexBytes,
  move,
  pendingDetail,
  rawTransaction as raw,
  stxTransfer as stxTransferSample,
  summary,
  U3 as value,
} from './samples.ts';

const text = (value: unknown) => JSON.stringify(value);
const head = (id: number) =>
  `"tx_id":"${hash(id)}","sender":{"address":"${ADDRESS}","nonce":5},"sponsor":null,"fee_rate":"75"`;
const place = `"block":{"height":1,"hash":"${hash(0xb1)}","index_hash":"${hash(0xc1)}","time":1000,"tx_index":0},"bitcoin_block":{"height":101,"time":990},"status":"success"`;
const transfer = `"type":"token_transfer","token_transfer":{"recipient":"${OTHER}","amount":"100","memo":{"hex":"0x0d0000000568656c6c6f","repr":"hello"}}`;

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

describe('a summary', () => {
  test('has the block if the transaction is mined', () => {
    expect(text(transactionSummary(summary(0x12)))).toBe(`{${head(0x12)},${place},${transfer}}`);
  });

  test('has the receipt time if the transaction is pending', () => {
    const waiting = '"receipt_time":2000,"receipt_block_height":3,"status":"pending"';
    expect(text(pendingSummary(pendingDetail(0x12, 2000)))).toBe(`{${head(0x12)},${waiting},${transfer}}`);
  });

  test('has the sponsor if the transaction is sponsored', () => {
    const sponsor = { address: OTHER, nonce: 0n };
    expect(transactionSummary({ ...summary(1), sponsor }).sponsor).toEqual({ address: OTHER, nonce: 0 });
  });

  test('keeps nonces beyond 2^53 exact', () => {
    const sender = { address: ADDRESS, nonce: 2n ** 64n - 1n };
    expect(text(transactionSummary({ ...summary(1), sender }))).toContain('"nonce":18446744073709551615}');
  });

  test.each(bodies.map(([payload, mined, pending = mined]) => [mined, pending, payload] as const))(
    'with %s',
    (mined, pending, payload) => {
      expect(text(transactionSummary({ ...summary(1), payload }))).toEndWith(`"success",${mined}}`);
      expect(text(pendingSummary({ ...pendingDetail(1, 9), payload }))).toEndWith(`"pending",${pending}}`);
    },
  );
});

describe('a full transaction', () => {
  const full = `"parent_block":{"hash":"${hash(0xb0)}","index_hash":"${hash(0xc0)}"},"event_count":3,"execution_cost":{"read_count":1,"read_length":2,"runtime":3,"write_count":4,"write_length":5},"vm_error":null`;
  const mined = (change: object, include: (typeof includable)[number][] = []) =>
    text(fullTransaction({ mined: true, transaction: { ...detail(1), ...change } }, include));
  const waiting = (change: object, include: (typeof includable)[number][] = []) =>
    text(fullTransaction({ mined: false, transaction: { ...pendingDetail(1, 9), ...change } }, include));

  test('has more members than its summary, and included members last', () => {
    const included = '"post_conditions":[],"result":{"hex":"0x0703","repr":"(ok true)"}';
    expect(mined({})).toBe(`{${head(1)},${place},${full},${transfer}}`);
    expect(mined({}, ['result', 'post_conditions'])).toBe(`{${head(1)},${place},${full},${transfer},${included}}`);
  });

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

describe('a balance', () => {
  const none = { any: false, inbound: 0n, outbound: 0n };

  test('is 0, without a lock or pending amounts', () => {
    expect(text(stxBalance({ balance: 0n, locked: null, pending: none }))).toBe(
      '{"balance":"0","available":"0","locked":null,"mempool":null}',
    );
  });

  test('with a lock and pending transactions', () => {
    const locked = {
      amount: 400_000n,
      poxVersion: 4,
      transaction: { txId: bytes(9), blockHeight: 3, burnBlockHeight: 4 },
      unlockHeight: 1000,
    };
    expect(
      text(stxBalance({ balance: 1_000_000n, locked, pending: { any: true, inbound: 0n, outbound: 51_234n } })),
    ).toBe(
      `{"balance":"1000000","available":"600000","locked":{"amount":"400000","pox_version":4,"lock_tx_id":"${hash(9)}","stacks_lock_height":3,"burn_lock_height":4,"burn_unlock_height":1000},"mempool":{"estimated_balance":"548766","inbound":"0","outbound":"51234"}}`,
    );
  });

  test("with pending transactions that don't change it", () => {
    const { mempool } = stxBalance({ balance: 5n, locked: null, pending: { ...none, any: true } });
    expect(mempool).toEqual({ estimated_balance: '5', inbound: '0', outbound: '0' });
  });

  test('with pending transactions that overdraw it', () => {
    const { mempool } = stxBalance({ balance: 5n, locked: null, pending: { any: true, inbound: 1n, outbound: 9n } });
    expect(mempool).toEqual({ estimated_balance: '-3', inbound: '1', outbound: '9' });
  });
});

test('nonces have the confirmed and the pending part', () => {
  expect(text(nonces({ next: 6n, lastConfirmed: 2n, lastPending: 5n, pending: [3n], missing: [4n] }))).toBe(
    '{"next_nonce":6,"last_confirmed_nonce":2,"mempool":{"last_nonce":5,"pending_nonces":[3],"missing_nonces":[4]}}',
  );
});

test("a principal's transaction has its involvement and amounts", () => {
  const answer = principalTransaction({
    transaction: summary(1),
    involvement: 'sender',
    stx: { sent: 100_050n, received: 0n },
    affected: { stx: true, ft: false, nft: true },
  });
  const { transaction, ...rest } = answer;
  expect(text(transaction)).toBe(text(transactionSummary(summary(1))));
  expect(text(rest)).toBe(
    '{"involvement":"sender","balance_changes":{"stx":{"sent":"100050","received":"0","net":"-100050"}},"affected_balances":{"stx":true,"ft":false,"nft":true}}',
  );
});

test('a balance change has the kind of asset and the amounts', () => {
  const changes = changesOf(bytes(1));
  const stx = '"asset":{"type":"stx"},"balance_change":{"sent":"175","received":"0","net":"-175"}}';
  expect(changes.map(balanceChange).map(text)).toEqual([
    `{${stx}`,
    `{"asset":{"type":"ft","identifier":"${TOKEN}"},"balance_change":{"sent":"0","received":"8","net":"8"}}`,
    `{"asset":{"type":"nft","identifier":"${NFT}"},"balance_change":{"sent":"1","received":"1","net":"0"}}`,
  ]);
  expect(text(transactionBalanceChange(changes[0]!))).toBe(`{"tx_id":"${hash(1)}",${stx}`);
});

describe('a transfer of', () => {
  const block = `"block":{"height":1,"hash":"${hash(0xb1)}","index_hash":"${hash(0xc1)}","time":1000,"tx_index":0}`;
  const origin = `"transaction":{"tx_id":"${hash(0x31)}","event_index":4},${block}}`;
  const parties = `{"sender":"${ADDRESS}","recipient":"${OTHER}"`;

  test('STX, with and without a memo', () => {
    const transfer = stxTransferSample(0x31, 4);
    expect(text(stxTransfer(transfer))).toBe(`${parties},"amount":"7","memo":{"hex":"0x6869","repr":"hi"},${origin}`);
    expect(text(stxTransfer({ ...transfer, sender: null, memo: null }))).toBe(
      `{"sender":null,"recipient":"${OTHER}","amount":"7","memo":null,${origin}`,
    );
  });

  test('a fungible token', () => {
    expect(text(ftTransfer(ftTransferSample(0x31, 4)))).toBe(`${parties},"amount":"7",${origin}`);
  });

  test('a non-fungible token', () => {
    expect(text(nftMove(move(0x31, 4)))).toBe(`${parties},${origin}`);
    expect(text(nftMove({ ...move(0x31, 4), recipient: null }))).toBe(
      `{"sender":"${ADDRESS}","recipient":null,${origin}`,
    );
  });
});

test('token balances of a principal', () => {
  expect(text(ftBalance({ asset: TOKEN, balance: '340282366920938463463374607431768211456' }))).toBe(
    `{"asset_identifier":"${TOKEN}","balance":"340282366920938463463374607431768211456"}`,
  );
  expect(text(nftInstance({ asset: NFT, value }))).toBe(`{"asset_identifier":"${NFT}","value":${u3}}`);
});

test('a contract, with and without its source', () => {
  const block = `{"height":1,"hash":"${hash(0xb1)}","index_hash":"${hash(0xc1)}","time":1000,"tx_index":0}`;
  const rest = `"tx_id":"${hash(0x31)}","block":${block},"bitcoin_block":{"height":101,"time":990}`;
  const open = `{"contract_id":"${CONTRACT}","clarity_version"`;
  expect(text(smartContract(contract(), []))).toBe(`${open}:2,${rest}}`);
  expect(text(smartContract({ ...contract(), clarityVersion: null }, []))).toBe(`${open}:null,${rest}}`);
  expect(text(smartContract(contract(), ['source_code']))).toBe(`${open}:2,${rest},"source_code":";;"}`);
});
