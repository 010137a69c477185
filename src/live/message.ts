/** A message that is pushed: serialized once for each protocol, however many subscribers it has. */
import type { Topic, TopicKind } from './topics.ts';

/** The JSON-RPC names of notifications. */
const rpcMethods: Readonly<Record<TopicKind, string>> = {
  block: 'block',
  microblock: 'microblock',
  mempool: 'mempool',
  transaction: 'tx_update',
  'address-transaction': 'address_tx_update',
  'address-stx-balance': 'address_balance_update',
  'nft-event': 'nft_event',
  'nft-asset-event': 'nft_asset_event',
  'nft-collection-event': 'nft_collection_event',
};

export interface MessageContent {
  topic: Topic;
  /** The JSON text of the object that is pushed. */
  text: string;
  /** Members that stand before its own in JSON-RPC. */
  members?: Record<string, unknown>;
  /** Arguments that stand before it in Socket.IO. */
  leading?: readonly string[];
}

/** A message for the subscribers of one topic. */
export class Message {
  readonly topic: Topic;
  readonly #content: MessageContent;
  #rpc: string | null = null;
  #socketIo: { event: string; text: string } | null = null;

  constructor(content: MessageContent) {
    this.topic = content.topic;
    this.#content = content;
  }

  /** A JSON-RPC notification. */
  rpc(): string {
    if (this.#rpc !== null) return this.#rpc;
    const { topic, text, members } = this.#content;
    const head = members === undefined ? '' : JSON.stringify(members).slice(0, -1);
    const params = members === undefined ? text : text === '{}' ? `${head}}` : `${head},${text.slice(1)}`;
    this.#rpc = `{"jsonrpc":"2.0","method":"${rpcMethods[topic.kind]}","params":${params}}`;
    return this.#rpc;
  }

  /**
   * A Socket.IO event, as the engine's connections carry it.
   * @param event the topic as the client spelled it: most spell it alike
   */
  socketIo(event: string): string {
    if (this.#socketIo?.event === event) return this.#socketIo.text;
    const { text: object, leading = [] } = this.#content;
    const words = [event, ...leading].map((word) => JSON.stringify(word)).join(',');
    const text = `2[${words},${object}]`;
    this.#socketIo = { event, text };
    return text;
  }
}
