/** Clients that read the API: an answer is one snapshot, the chain only grows, and no read fails. */
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import type { Prng } from '../../src/devnet/prng.ts';
import { type BlockTree, treesOf } from '../support/events/winning-chain.ts';
import { NoAnswer, type Server } from './server.ts';
import type { World } from './world.ts';

/** Milliseconds between two requests of one reader, at most. */
const BETWEEN = 350;
/** Number of rows of a page. */
const LIMIT = 20;

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into
type Body = any;

/** A check of the answers to one kind of request. */
interface Look {
  path: string;
  /**
   * @param seen the highest block seen before the request
   * @throws Error if the answer can't be one snapshot of a chain that existed
   */
  judge(body: Body, seen: number): void;
}

function require(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem);
}

export class Readers {
  readonly #world: World;
  readonly #server: Server;
  readonly #blocks: BlockTree;
  readonly #looks: readonly Look[];
  #calm = false;
  #reading = 0;
  /** The highest block that any answer showed. */
  #highest = 0;

  constructor(
    world: World,
    server: Server,
    { events, addresses }: { events: readonly NodeEvent[]; addresses: readonly string[] },
  ) {
    this.#world = world;
    this.#server = server;
    this.#blocks = treesOf(events).blocks;
    this.#looks = [
      { path: `/extended/v2/blocks?limit=${LIMIT}`, judge: (body, seen) => this.#isChain(body, seen) },
      // This one takes several turns.
      { path: `/extended/v1/block?limit=${LIMIT}`, judge: (body, seen) => this.#isChain(this.#asSecond(body), seen) },
      { path: '/extended/v2/blocks/latest/transactions?limit=50', judge: (body) => this.#isWholeBlock(body) },
      { path: '/extended/v1/tx?limit=50', judge: (body) => this.#isHistory(body) },
      { path: '/extended/v1/tx/mempool?limit=50', judge: (body) => this.#isCounted(body) },
      { path: '/extended', judge: ({ chain_tip }, seen) => this.#isKnownTip(chain_tip, seen) },
      ...addresses.flatMap((address): Look[] => [
        { path: `/extended/v1/address/${address}/stx`, judge: (body) => this.#isSum(body) },
        { path: `/extended/v2/addresses/${address}/transactions?limit=50`, judge: (body) => this.#isCounted(body) },
      ]),
    ];
  }

  get isDone(): boolean {
    return this.#reading === 0;
  }

  /** @param count how many there are */
  start(count: number): void {
    for (let number = 0; number < count; number++) void this.#read(this.#world.prng(`reader ${number}`));
  }

  /** Each ends with the request in hand. */
  calm(): void {
    this.#calm = true;
  }

  /** Forgets the seen blocks, because a restored server may lack them. */
  forget(): void {
    this.#highest = 0;
  }

  async #read(prng: Prng): Promise<void> {
    this.#reading += 1;
    while (!this.#calm) {
      await this.#world.pause(prng.below(BETWEEN));
      const look = this.#looks[prng.below(this.#looks.length)];
      if (look !== undefined) await this.#look(look);
    }
    this.#reading -= 1;
  }

  async #look({ path, judge }: Look): Promise<void> {
    const seen = this.#highest;
    try {
      const response = await this.#server.request('The API', path, { method: 'GET' });
      const body = await response.json();
      this.#world.note(`${path} ${response.status}`);
      // Before the first block, there is no latest block, and the chain may be unknown.
      const isUnknown = response.status === 503 && JSON.stringify(body).includes('chain is still unknown');
      if ((response.status === 404 || isUnknown) && seen === 0) return;
      require(response.status === 200, `it is answered with ${response.status}`);
      judge(body, seen);
    } catch (error) {
      if (!(error instanceof NoAnswer)) this.#world.wrong(`${path}: ${error}`, error);
    }
  }

  /** Checks that a chain never gets shorter for a reader, even if the process or the power fails. */
  #isTip(height: number, seen: number): void {
    require(height >= seen, `the chain ends at ${height}, but reached ${seen} before`);
    this.#highest = Math.max(this.#highest, height);
  }

  #isKnownTip(tip: Body, seen: number): void {
    if (tip === undefined && seen === 0) return;
    const block = this.#blocks.blocks.get(tip.index_block_hash);
    require(block?.head.block_height === tip.block_height, "the node doesn't have the tip");
    this.#isTip(tip.block_height, seen);
  }

  /** A list of blocks by the first version of the API in the form of the second, which has the parent's id and a count. */
  #asSecond({ total, results }: Body): Body {
    /** A Bitcoin operation that failed is counted, and isn't listed. */
    const isFailedOperation = ({ raw_tx, status }: Body): boolean => raw_tx === '0x00' && status !== 'success';
    const second = (block: Body, place: number): Body => {
      const { transactions = [] } = this.#blocks.blocks.get(block.index_block_hash)?.head ?? {};
      const below = results[place + 1];
      return {
        ...block,
        parent_index_block_hash: below?.hash === block.parent_block_hash ? below?.index_block_hash : null,
        tx_count: block.txs.length + transactions.filter(isFailedOperation).length,
      };
    };
    return { total, results: results.map(second) };
  }

  #isChain({ total, results }: Body, seen: number): void {
    require(total === (results[0]?.height ?? 0), `${total} blocks end at ${results[0]?.height}`);
    require(results.length === Math.min(total, LIMIT), 'the page is not whole');
    for (const [place, { index_block_hash, parent_index_block_hash, tx_count }] of results.entries()) {
      const head = this.#blocks.blocks.get(index_block_hash)?.head;
      require(head !== undefined, `the node doesn't have block ${index_block_hash}`);
      const below = results[place + 1];
      require(below === undefined || below.index_block_hash === parent_index_block_hash, 'a block is missing');
      // The first block also contains the transactions of block 0.
      require(below === undefined || head?.transactions.length === tx_count, 'transactions are missing');
    }
    this.#isTip(total, seen);
  }

  #isWholeBlock({ total, results }: Body): void {
    const [first] = results;
    this.#isCounted({ total, results });
    require(results.every((row: Body) => row.block_hash === first.block_hash), 'they belong to several blocks');
  }

  #isHistory({ total, results }: Body): void {
    require(results.length === Math.min(total, 50), `${results.length} transactions of ${total}`);
    const heights: number[] = results.map((row: Body) => row.block_height);
    const inOrder = heights.every((height, place) => place === 0 || height <= (heights[place - 1] ?? 0));
    require(inOrder, `they are not in order: ${heights}`);
    require(new Set(results.map((row: Body) => row.tx_id)).size === results.length, 'one is there twice');
  }

  #isCounted({ total, results }: Body): void {
    require(results.length === Math.min(total, 50), `${results.length} rows of ${total}`);
  }

  #isSum(account: Body): void {
    const [balance, received, sent, fees, rewards] = [
      account.balance,
      account.total_received,
      account.total_sent,
      account.total_fees_sent,
      account.total_miner_rewards_received,
    ].map(BigInt) as [bigint, bigint, bigint, bigint, bigint];
    require(balance === received - sent - fees + rewards, 'the balance is not the sum of the transfers');
  }
}
