/** Topics of subscriptions, and their names in the two protocols. */
import { canonicalPrincipal, MAX_ASSET_LENGTH } from '../codec/address.ts';

/** Kinds of topics, as Socket.IO names them and metrics count them. */
export const topicKinds = [
  'block',
  'microblock',
  'mempool',
  'transaction',
  'address-transaction',
  'address-stx-balance',
  'nft-event',
  'nft-asset-event',
  'nft-collection-event',
] as const;
export type TopicKind = (typeof topicKinds)[number];

export interface Topic {
  kind: TopicKind;
  /** Unique text of the topic, however a client spells it: `transaction:0x…` in lower case. */
  key: string;
}

/** A topic without a subject, such as `block`. */
export const plainTopic = (kind: TopicKind): Topic => ({ kind, key: kind });
/** The topic of a transaction. @param txId `0x` and lower-case hex digits */
export const transactionTopic = (txId: string): Topic => ({ kind: 'transaction', key: `transaction:${txId}` });
/** A topic of one principal. @param principal in its canonical spelling */
export const principalTopic = (kind: 'address-transaction' | 'address-stx-balance', principal: string): Topic => ({
  kind,
  key: `${kind}:${principal}`,
});
/** The topic of one token instance. @param value serialized Clarity value: `0x` and lower-case hex digits */
export const nftAssetTopic = (asset: string, value: string): Topic => ({
  kind: 'nft-asset-event',
  key: `nft-asset-event:${asset}+${value}`,
});
/** The topic of all events of a non-fungible token. @param asset identifier of the token */
export const nftCollectionTopic = (asset: string): Topic => ({
  kind: 'nft-collection-event',
  key: `nft-collection-event:${asset}`,
});

/** Maximum characters of a token's value in hex: room for a `(string-utf8 256)`, and a bound for a client's 10,000 topics. */
export const MAX_VALUE = 4096;
/** Characters of a transaction id: `0x` and the digits of 32 bytes. */
export const TX_ID_LENGTH = 66;
/** Maximum characters of a topic's name. Names of token topics are the longest. */
const MAX_NAME = 'nft-asset-event:'.length + MAX_ASSET_LENGTH + '+'.length + MAX_VALUE;

/**
 * Normalises hex to `0x` and lower-case digits; null if the text is not whole bytes in hex, or longer than a token's value.
 */
export function hexText(text: string): string | null {
  if (text.length > MAX_VALUE) return null;
  const digits = text.replace(/^0x/i, '');
  return /^([0-9a-fA-F]{2})+$/.test(digits) ? `0x${digits.toLowerCase()}` : null;
}

/** Normalises an asset identifier as events spell it; null if its contract is invalid. */
function assetText(text: string): string | null {
  if (text.length > MAX_ASSET_LENGTH) return null;
  const [contract = '', name, ...rest] = text.split('::');
  const principal = contract.includes('.') ? canonicalPrincipal(contract) : null;
  return principal === null || name === undefined || name === '' || rest.length > 0 ? null : `${principal}::${name}`;
}

/** Parses a Socket.IO topic name, such as `address-transaction:SP…`; null if it is invalid. */
export function topicNamed(name: string): Topic | null {
  if (name.length > MAX_NAME) return null;
  const colon = name.indexOf(':');
  const kind = colon < 0 ? name : name.slice(0, colon);
  const subject = colon < 0 ? null : name.slice(colon + 1);
  switch (kind) {
    case 'block':
    case 'microblock':
    case 'mempool':
    case 'nft-event':
      return subject === null ? plainTopic(kind) : null;
    case 'transaction': {
      const txId = hexText(subject ?? '');
      return txId === null || txId.length > TX_ID_LENGTH ? null : transactionTopic(txId);
    }
    case 'address-transaction':
    case 'address-stx-balance': {
      const principal = canonicalPrincipal(subject ?? '');
      return principal === null ? null : principalTopic(kind, principal);
    }
    case 'nft-asset-event': {
      // Asset names may have a plus; contract names and hex have none.
      const plus = (subject ?? '').lastIndexOf('+');
      const asset = plus < 0 ? null : assetText((subject ?? '').slice(0, plus));
      const value = plus < 0 ? null : hexText((subject ?? '').slice(plus + 1));
      return asset === null || value === null ? null : nftAssetTopic(asset, value);
    }
    case 'nft-collection-event': {
      const asset = assetText(subject ?? '');
      return asset === null ? null : nftCollectionTopic(asset);
    }
    default:
      return null;
  }
}
