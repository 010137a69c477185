/** Hand-made blocks whose transactions are operations of the name system. */
import { nameToken } from '../../../src/chain/name-system.ts';
import { clarity } from '../../../src/codec/clarity-encode.ts';
import { hash160 } from '../../../src/codec/hash.ts';
import { toHex } from '../../../src/codec/hex.ts';
import { utf8Bytes } from '../../../src/codec/utf8.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { alice, block, bob, call, type MadeBlock, receipt, transfer } from './handmade.ts';
import { jsonOf } from './payload-text.ts';

/** The name contracts of mainnet and of all other chains. */
export const NAME_CONTRACTS = ['SP000000000000000000002Q6VF78.bns', 'ST000000000000000000002AMW42H.bns'] as const;

const CONTRACT = NAME_CONTRACTS[1];

/** An operation on a name of the namespace `btc`. */
export interface Operation {
  /** As the contract prints it: `name-register`. */
  op: string;
  zonefile?: string;
  /** Name without its namespace (default: `alice`). */
  name?: string;
  /** Event that mints or moves the token: see {@link mintTo} and {@link moveTo}. */
  token?: object;
}

const buffer = (text: string) => clarity.buffer(utf8Bytes(text));
let nonce = 0;

const metadataOf = (op: string, name: string): Uint8Array =>
  clarity.tuple({
    name: buffer(name),
    namespace: buffer('btc'),
    op: clarity.ascii(op),
    'tx-sender': clarity.principal(alice.address),
  });

/** The hash of a zonefile, as the contract keeps it. */
export const hashOfText = (zonefile: string): Uint8Array => new Uint8Array(hash160(utf8Bytes(zonefile)));

const printed = (txid: string, value: Uint8Array) => ({
  txid,
  event_index: 1,
  committed: true,
  type: 'contract_event',
  contract_event: { contract_identifier: CONTRACT, topic: 'print', raw_value: toHex(value) },
});

/** A transaction that did something to a name. */
export function operated({ op, zonefile, name = 'alice', token }: Operation) {
  const transaction = transfer(alice, nonce++, 1);
  const hash = zonefile === undefined ? new Uint8Array(0) : hashOfText(zonefile);
  const value = clarity.tuple({
    attachment: clarity.tuple({
      'attachment-index': clarity.uint(1),
      hash: clarity.buffer(hash),
      metadata: metadataOf(op, name),
    }),
  });
  const moved = { asset_identifier: `${CONTRACT}::names`, raw_value: toHex(nameToken(`${name}.btc`)!), ...token };
  const type = token === undefined ? null : 'sender' in token ? 'nft_transfer_event' : 'nft_mint_event';
  const events = [
    ...(type === null ? [] : [{ txid: transaction.id, event_index: 0, committed: true, type, [type]: moved }]),
    printed(transaction.id, value),
  ];
  return { transaction, events };
}

/** A transaction that opens a namespace. @param lifetime of its names, in blocks */
export function launched(lifetime: number, namespace = 'btc') {
  const transaction = transfer(alice, nonce++, 1);
  const value = clarity.tuple({
    namespace: buffer(namespace),
    status: clarity.ascii('ready'),
    properties: clarity.tuple({
      lifetime: clarity.uint(lifetime),
      'price-function': clarity.tuple({
        base: clarity.uint(4),
        buckets: clarity.list(Array.from({ length: 16 }, () => clarity.uint(1))),
        coeff: clarity.uint(250),
        'no-vowel-discount': clarity.uint(1),
        'nonalpha-discount': clarity.uint(1),
      }),
    }),
  });
  return { transaction, events: [printed(transaction.id, value)] };
}

/** A transaction that renews `alice.btc`. */
export function renewed() {
  const args = [buffer('btc'), buffer('alice'), clarity.uint(1), clarity.none(), clarity.none()];
  return { transaction: call(bob, nonce++, 1, CONTRACT, 'name-renewal', args), events: [] };
}

/** A transaction and its events. */
export type NameTransaction = ReturnType<typeof operated> | ReturnType<typeof launched> | ReturnType<typeof renewed>;

/** A block of such transactions. */
export const nameBlock = (parent: MadeBlock | null, label: string, ...operations: NameTransaction[]): MadeBlock =>
  block(
    parent,
    label,
    operations.map(({ transaction }, index) => receipt(transaction, index)),
    { events: operations.flatMap(({ events }) => events) },
  );

/** The node's event of the zonefile that a transaction brought. */
export const attached = (
  operation: NameTransaction,
  mined: MadeBlock,
  op: string,
  zonefile: string,
  name = 'alice',
): ReceivedEvent => ({
  path: '/attachments/new',
  text: jsonOf([
    {
      attachment_index: 1,
      index_block_hash: mined.hash,
      block_height: mined.height,
      content_hash: toHex(hashOfText(zonefile)),
      contract_id: CONTRACT,
      metadata: toHex(metadataOf(op, name)),
      tx_id: operation.transaction.id,
      content: toHex(utf8Bytes(zonefile)),
    },
  ]),
  receivedAt: 0,
});

/** The token of a name that is new. */
export const mintTo = (recipient: string) => ({ recipient });
/** The token of a name that bob hands on. */
export const moveTo = (recipient: string) => ({ sender: bob.address, recipient });
