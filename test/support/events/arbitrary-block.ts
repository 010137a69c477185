/** Blocks of every shape that the store can receive, consistent or not: undoing must not depend on consistent data. */
import fc from 'fast-check';
import type { Block, ChainEvent, ChainTransaction, MinerReward } from '../../../src/chain/block.ts';
import { bnsAsset, bnsOperations, SET_PRIMARY } from '../../../src/chain/bns-v2.ts';
import { SEND_MANY } from '../../../src/chain/memo-transfers.ts';
import { nameOperations } from '../../../src/chain/name-system.ts';
import { clarity, encodeArguments } from '../../../src/codec/clarity-encode.ts';
import type { Payload } from '../../../src/codec/transaction.ts';
import { utf8Bytes } from '../../../src/codec/utf8.ts';
import { collectible } from '../../../src/devnet/contracts/collectible.ts';
import { gems } from '../../../src/devnet/contracts/gems.ts';
import { token } from '../../../src/devnet/contracts/token.ts';
import { poxPrints, rewardSets } from './arbitrary-pox.ts';
import { printedName, printedNamespace } from './bns.ts';

/** Few, so that they meet again in every role. */
const principals = [
  'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7',
  'ST1WNJTS9JM1JYGK758B10DBAMBZ0K23ADP392SBV',
  'SP000000000000000000002Q6VF78',
  'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7.token',
] as const;

const principal = fc.constantFrom(...principals);
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const hash = bytes(32);
/** Often 1, so that balances go to zero and back. */
const amount = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), fc.constant(1n));
const decimal = amount.map(String);
const u64 = fc.oneof(fc.nat(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }));
const cost = fc.record({ runtime: u64, readCount: u64, readLength: u64, writeCount: u64, writeLength: u64 });
const name = fc.constantFrom('token', 'vault');
const bns = `${principals[0]}.BNS-V2`;
const asset = fc.constantFrom(`${principals[3]}::coin`, `${principals[3]}::cat`, bnsAsset(bns));
/** Instances of non-fungible tokens: few, so that they change hands. */
const instance = fc.constantFrom(1, 2, 3).map((id) => clarity.uint(id));
const height = fc.nat(0xffff_ffff);

const names = `${principals[2]}.bns`;
const ofName = fc.record({
  name: fc.constantFrom('alice', 'bob'),
  op: fc.constantFrom(...nameOperations),
  sender: principal,
  hash: fc.oneof(fc.constant(new Uint8Array(0)), bytes(20)),
});
const buffer = (text: string): Uint8Array => clarity.buffer(utf8Bytes(text));

const namePrint = ofName.map(({ name, op, sender, hash }) =>
  clarity.tuple({
    attachment: clarity.tuple({
      'attachment-index': clarity.uint(1),
      hash: clarity.buffer(hash),
      metadata: clarity.tuple({
        name: buffer(name),
        namespace: buffer('btc'),
        op: clarity.ascii(op),
        'tx-sender': clarity.principal(sender),
      }),
    }),
  }),
);
const namespacePrint = fc
  .record({ lifetime: amount, base: amount })
  .map(({ lifetime, base }) =>
    clarity.tuple({
      namespace: buffer('btc'),
      status: clarity.ascii('ready'),
      properties: clarity.tuple({
        lifetime: clarity.uint(lifetime),
        'price-function': clarity.tuple({
          base: clarity.uint(base),
          buckets: clarity.list(Array.from({ length: 16 }, (_, index) => clarity.uint(index))),
          coeff: clarity.uint(2),
          'no-vowel-discount': clarity.uint(3),
          'nonalpha-discount': clarity.uint(4),
        }),
      }),
    }),
  );

const bnsPrint = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        label: fc.constantFrom('alice', 'bob'),
        namespace: fc.constant('btc'),
        operation: fc.constantFrom(...bnsOperations),
        id: fc.constantFrom(1, 2, 3),
        to: fc.option(principal),
        renewalHeight: fc.option(fc.constantFrom(0, 500), { nil: undefined }),
      })
      .map(({ renewalHeight, ...printed }) =>
        printedName(renewalHeight === undefined ? printed : { ...printed, renewalHeight }),
      ),
  },
  fc
    .record({ lifetime: amount, launchedAt: fc.option(fc.nat()) })
    .map(({ lifetime, launchedAt }) => printedNamespace('btc', lifetime, launchedAt)),
);

const event: fc.Arbitrary<ChainEvent> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('contract_log' as const),
      contractId: fc.constant(bns),
      topic: fc.constant('print'),
      value: bnsPrint,
    }),
  },
  fc.record({
    kind: fc.constant('contract_log' as const),
    contractId: fc.constant(names),
    topic: fc.constant('print'),
    value: fc.oneof({ weight: 4, arbitrary: namePrint }, namespacePrint),
  }),
  fc.record({
    kind: fc.constant('contract_log' as const),
    contractId: fc.constantFrom(principals[3], `${principals[2]}.pox-3`, ...SEND_MANY),
    topic: fc.constant('print'),
    value: bytes(3),
  }),
  { weight: 4, arbitrary: poxPrints(principals) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('stx' as const),
      action: fc.constantFrom('transfer' as const, 'mint' as const, 'burn' as const),
      sender: fc.option(principal),
      recipient: fc.option(principal),
      amount: decimal,
      memo: fc.option(bytes(34)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('ft' as const),
      action: fc.constantFrom('transfer' as const, 'mint' as const, 'burn' as const),
      asset,
      sender: fc.option(principal),
      recipient: fc.option(principal),
      amount: decimal,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('nft' as const),
      action: fc.constantFrom('transfer' as const, 'mint' as const, 'burn' as const),
      asset,
      sender: fc.option(principal),
      recipient: fc.option(principal),
      value: instance,
    }),
  },
  fc.record({
    kind: fc.constant('stx_lock' as const),
    address: principal,
    amount: decimal,
    unlockHeight: height,
    contractName: fc.constantFrom('pox', 'pox-2', 'pox-4', 'unheard-of'),
  }),
);

const functionArgs = fc.constant(Uint8Array.of(0, 0, 0, 0));
const renewalArgs = encodeArguments([buffer('btc'), buffer('alice'), clarity.uint(1), clarity.none(), clarity.none()]);
const payload: fc.Arbitrary<Payload> = fc.oneof(
  fc.record({
    type: fc.constant('token_transfer' as const),
    typeId: fc.constant(0 as const),
    recipient: principal,
    amount,
    memo: bytes(34),
  }),
  fc.record({
    type: fc.constant('smart_contract' as const),
    typeId: fc.constant(6 as const),
    contractName: name,
    source: fc.constant('(begin)'),
    clarityVersion: fc.constant(3),
  }),
  fc.record({
    type: fc.constant('contract_call' as const),
    typeId: fc.constant(2 as const),
    contractId: fc.constant(principals[3]),
    functionName: name,
    functionArgs,
  }),
  fc.record({
    type: fc.constant('contract_call' as const),
    typeId: fc.constant(2 as const),
    contractId: fc.constant(names),
    functionName: fc.constant('name-renewal'),
    functionArgs: fc.constant(renewalArgs),
  }),
  fc.record({
    type: fc.constant('contract_call' as const),
    typeId: fc.constant(2 as const),
    contractId: fc.constant(bns),
    functionName: fc.constant(SET_PRIMARY),
    functionArgs: instance.map((id) => encodeArguments([id])),
  }),
);

const signer = fc.record({ address: principal, nonce: fc.bigInt({ min: 0n, max: 2n ** 62n }) });

/** Interfaces of deployed contracts: of none of the token families, and of each. */
const interfaces = ['{}', ...[token, collectible, gems].map(({ abi }) => JSON.stringify(abi))] as const;

const transaction: fc.Arbitrary<ChainTransaction> = fc.record({
  txId: hash,
  raw: bytes(7),
  sender: signer,
  sponsor: fc.option(signer),
  fee: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  chainId: fc.constant(1),
  anchorMode: fc.constantFrom(1, 2, 3),
  postConditions: bytes(5),
  payload,
  bitcoinOperation: fc.boolean(),
  txIndex: fc.nat(100),
  status: fc.constantFrom(
    'success' as const,
    'success' as const,
    'success' as const,
    'abort_by_response' as const,
    'abort_by_post_condition' as const,
    'problematic_skipped' as const,
  ),
  result: bytes(2),
  cost,
  vmError: fc.option(fc.constant('overflow')),
  contractInterface: fc.option(fc.constantFrom(...interfaces)),
  microblock: fc.option(fc.record({ hash, parentHash: hash, sequence: fc.nat(10) })),
  events: fc.array(event, { maxLength: 5 }),
  genesis: fc.option(
    fc.record({ blockTime: fc.nat(), parentIndexBlockHash: hash, parentBurnBlockTime: fc.option(fc.nat()) }),
  ),
});

const reward: fc.Arbitrary<MinerReward> = fc.record({
  recipient: principal,
  miner: principal,
  coinbase: amount,
  feesAnchored: amount,
  feesStreamedConfirmed: amount,
  feesStreamedProduced: amount,
  fromIndexBlockHash: hash,
});

const unlockHeight = fc.option(height, { nil: null });

/** A block without its height, which depends on the chain. */
const block: fc.Arbitrary<Omit<Block, 'height'>> = fc.record({
  blockHash: hash,
  indexBlockHash: hash,
  parentBlockHash: hash,
  parentIndexBlockHash: hash,
  blockTime: fc.nat(),
  burnBlockHash: hash,
  burnBlockHeight: height,
  burnBlockTime: fc.nat(),
  parentBurnBlockTime: fc.option(fc.nat()),
  minerTxId: hash,
  parentMicroblockHash: hash,
  parentMicroblockSequence: fc.nat(10),
  tenureHeight: fc.option(fc.nat()),
  cost,
  signerBits: fc.option(fc.constantFrom('', '0', '10110')),
  signerSignatures: fc.option(fc.array(bytes(65), { maxLength: 2 })),
  announcedTransactions: fc.nat(100),
  transactions: fc.array(transaction, { maxLength: 4 }),
  minerRewards: fc.array(reward, { maxLength: 2 }),
  poxUnlockHeights: fc.tuple(unlockHeight, unlockHeight, unlockHeight, unlockHeight),
  rewardSet: rewardSets,
});

/** Generates blocks 1, 2, 3 …, with unrelated hashes. */
export const blocks = (): fc.Arbitrary<Block[]> =>
  fc
    .array(block, { minLength: 1, maxLength: 4 })
    .map((list) => list.map((rest, index): Block => ({ height: index + 1, ...rest })));
