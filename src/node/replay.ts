/**
 * Makes the `/new_block` event of a Nakamoto block from its node's RPC interface. The node executes the block again
 * (`/v3/blocks/replay`). The rest comes from the block's header, its sortition, and the state before and after the
 * block. The result is compared with the node's accounts and supply, so that missing data is noticed.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { bytesEqual } from '../base/bytes-equal.ts';
import { OperatorError } from '../base/errors.ts';
import { exactJson } from '../base/json.ts';
import type { Block } from '../chain/block.ts';
import { effectsOf } from '../chain/effects.ts';
import type { Network } from '../chain/network.ts';
import { blockOfText } from '../chain/normalise.ts';
import { PayloadError } from '../chain/payload-reader.ts';
import { BOOT_ADDRESS, principalBytes } from '../codec/address.ts';
import { bootTransaction, deploymentPayload, unlockPayload } from '../codec/boot-transaction.ts';
import { DecodeError } from '../codec/bytes-reader.ts';
import { decodeClarity } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import type { NakamotoBlock } from '../codec/nakamoto-block.ts';
import { decodeKnownParts, transactionId } from '../codec/transaction.ts';
import type { AccountFacts } from '../store/queries/blocks/facts.ts';
import type { RewardedTenure } from '../store/queries/blocks/tenures.ts';
import {
  answerOrThrow,
  Exact,
  NoAnswer,
  requestAccount,
  requestSigners,
  requestSortition,
  type Sortition,
  Source,
  type ThrottledNode,
} from './facts.ts';

/** Thrown if a block can't be completed because the node doesn't return some of its data. */
export class IncompleteBlockError extends Error {
  override readonly name = 'IncompleteBlockError';
  /** @param lacking the missing data, as a clause: `the node has no replay of it` */
  constructor(
    readonly height: number,
    readonly indexBlockHash: Uint8Array,
    readonly lacking: string,
  ) {
    super(`block ${height} (${toHex(indexBlockHash)}) can't be made whole: ${lacking}`);
  }
}

export type Parent = Pick<
  Block,
  | 'height'
  | 'blockHash'
  | 'indexBlockHash'
  | 'burnBlockHash'
  | 'burnBlockHeight'
  | 'burnBlockTime'
  | 'minerTxId'
  | 'tenureHeight'
  | 'poxUnlockHeights'
>;

/** The chain up to the parent. */
export interface ParentChain {
  network: Network;
  /** Returns the tenure of a coinbase height on the branch of a block; null if it is unknown. */
  tenure(tenureHeight: number, branch: Uint8Array): Promise<RewardedTenure | null>;
  /** Whether the chain starts with the genesis block. The first reward that matures is then the reward of tenure 1. */
  isFromGenesis: boolean;
  /**
   * Returns the number of tenures after which a miner's reward matures, from the newest reward on the branch of a
   * block; null if there is none.
   */
  maturity(branch: Uint8Array): Promise<number | null>;
}

export interface FilledBlock {
  /** JSON of the `/new_block` event. */
  text: string;
  block: Block;
  /** Number of changed accounts that weren't compared because the node returned no state. */
  unanswered: number;
}

/** Source of an event that the node never posted: member `filled_from` of its JSON. */
export const FILLED_FROM = 'rpc';

const Cost = Type.Record(Type.String(), Exact);

const Replay = Type.Object({
  transactions: Type.Array(
    Type.Object({
      txid: Type.String(),
      hex: Type.String(),
      result_hex: Type.String(),
      execution_cost: Cost,
      events: Type.Array(Type.Object({}, { additionalProperties: true })),
      post_condition_aborted: Type.Boolean(),
      vm_error: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});
type ReplayedTransaction = Static<typeof Replay>['transactions'][number];

const Pox = Type.Object({
  contract_versions: Type.Array(
    Type.Object({ contract_id: Type.String(), activation_burnchain_block_height: Type.Integer() }),
  ),
  total_liquid_supply_ustx: Exact,
  current_burnchain_block_height: Type.Integer(),
  first_burnchain_block_height: Type.Integer(),
  prepare_phase_block_length: Type.Integer(),
  reward_phase_block_length: Type.Integer(),
  epochs: Type.Array(Type.Object({ epoch_id: Type.String(), start_height: Type.Integer() })),
});

interface AccountChange {
  /** Change in micro-STX. */
  total: bigint;
  /** Number of transactions that the account signed or sponsored. */
  nonces: bigint;
}

/** Contracts that an epoch deploys, with the Clarity version of the payload; null if it has none (SIP-031, SIP-033). */
const EPOCH_CONTRACTS: Readonly<Record<string, readonly { name: string; clarityVersion: number | null }[]>> = {
  Epoch32: [{ name: 'sip-031', clarityVersion: 3 }],
  Epoch33: [{ name: 'costs-4', clarityVersion: null }],
  Epoch40: [{ name: 'pox-5', clarityVersion: 6 }],
};

/** Number of tenures after which a miner's reward matures on the public networks (SIP-001). */
const PUBLIC_MATURITY = 100;
/** Possible numbers on other networks. */
const OTHER_MATURITIES = Array.from({ length: 150 }, (_, number) => number + 1);
const ZEROS = toHex(new Uint8Array(32));
const OK_TRUE = toHex(clarity.ok(clarity.bool(true)));
const ERR_NONE = toHex(clarity.err(clarity.none()));
const ERROR_RESPONSE = 0x08;
const NO_COST = { runtime: 0, read_count: 0, read_length: 0, write_count: 0, write_length: 0 };
/** Timeout for executing a block at the node, in milliseconds. */
const REPLAY_TIMEOUT_MS = 120_000;

const prefixed = (hex: string): string => (hex.startsWith('0x') ? hex : `0x${hex}`);

/**
 * Returns the status that the node posts. A replay doesn't contain `problematic_skipped` (epoch 4.0). Such a
 * transaction was not executed, so it has the result `(err none)` without a cost or an error.
 */
const statusOf = (transaction: ReplayedTransaction): string => {
  const { post_condition_aborted, result_hex, execution_cost, vm_error } = transaction;
  if (post_condition_aborted) return 'abort_by_post_condition';
  const isFree = Object.values(execution_cost).every((part) => BigInt(part) === 0n);
  if (prefixed(result_hex) === ERR_NONE && isFree && vm_error === null) return 'problematic_skipped';
  return fromHex(result_hex)[0] === ERROR_RESPONSE ? 'abort_by_response' : 'success';
};

interface PostedTransaction {
  raw: Uint8Array;
  status: string;
  result: string;
  cost: Static<typeof Cost>;
  contractInterface: object | null;
  vmError: string | null;
  events: readonly object[];
}

const mintEvent = (recipient: string, amount: bigint) => ({
  type: 'stx_mint_event',
  committed: true,
  stx_mint_event: { recipient, amount: String(amount) },
});

type PostedReward = ReturnType<typeof rewards>[number];

/**
 * Returns the rewards of a tenure. Since Nakamoto, a tenure's miner gets the coinbase of the tenure, and the miner of
 * the previous tenure gets the fees of the previous tenure.
 * @param coinbase micro-STX
 */
function rewards(tenure: RewardedTenure, previous: RewardedTenure | null, boot: string, coinbase: bigint) {
  const from = {
    tx_fees_anchored: '0',
    tx_fees_streamed_confirmed: '0',
    from_index_consensus_hash: toHex(tenure.indexBlockHash),
    from_stacks_block_hash: toHex(tenure.blockHash),
  };
  return [
    {
      ...from,
      recipient: tenure.recipient,
      miner_address: tenure.miner,
      coinbase_amount: String(coinbase),
      tx_fees_streamed_produced: '0',
    },
    {
      ...from,
      recipient: previous?.recipient ?? boot,
      miner_address: previous?.miner ?? boot,
      coinbase_amount: '0',
      tx_fees_streamed_produced: String(previous?.fees ?? 0n),
    },
  ];
}

/** Returns the changes by a block's transactions and rewards. `minted`: minted micro-STX minus burnt micro-STX. */
function sumChanges(block: Block) {
  const accounts = new Map<string, AccountChange>();
  let minted = 0n;
  const add = (principal: string, balance: bigint, signed: bigint): void => {
    const { total, nonces } = accounts.get(principal) ?? { total: 0n, nonces: 0n };
    accounts.set(principal, { total: total + balance, nonces: nonces + signed });
  };
  for (const effect of effectsOf(block)) {
    if (effect.kind === 'account') add(effect.principal, effect.balance, 0n);
    else if (effect.kind === 'sums') minted += effect.supply;
  }
  for (const { sender, sponsor, bitcoinOperation, chainId } of block.transactions) {
    if (bitcoinOperation || chainId === 0) continue;
    add(sender.address, 0n, 1n);
    if (sponsor !== null) add(sponsor.address, 0n, 1n);
  }
  return { accounts, minted };
}

/** Requests a value. @throws NodeUnreachableError if the node failed */
const request = async <T extends TSchema>(node: ThrottledNode, path: string, schema: T, init: RequestInit = {}) =>
  answerOrThrow(await node.json(path, schema, init));

/** The node's answers about one state of the chain. Each is requested once. */
class StateAfter {
  readonly #accounts = new Map<string, Promise<AccountFacts | NoAnswer>>();
  #pox: Promise<Static<typeof Pox> | NoAnswer> | null = null;

  constructor(
    readonly node: ThrottledNode,
    /** Id of the block before the state. */
    readonly id: string,
  ) {}

  pox(): Promise<Static<typeof Pox> | NoAnswer> {
    this.#pox ??= request(this.node, `/v2/pox?tip=${this.id}`, Pox);
    return this.#pox;
  }

  account(principal: string): Promise<AccountFacts | NoAnswer> {
    const account =
      this.#accounts.get(principal) ?? requestAccount(this.node, principal, fromHex(this.id)).then(answerOrThrow);
    this.#accounts.set(principal, account);
    return account;
  }
}

interface Context {
  decoded: NakamotoBlock;
  parent: Parent;
  before: StateAfter;
  after: StateAfter;
  sortition: Sortition;
  failure: (reason: string) => IncompleteBlockError;
}

interface Unrewarded extends Context {
  /** Members of the block's event, without its rewards. */
  event: object;
  tenureHeight: number;
  /** The transactions of unlocks, which are part of the event, unless the node didn't answer. */
  unlocks: PostedTransaction[] | NoAnswer;
}

/** Makes the events of blocks, one after the other. */
export class BlockMaker {
  readonly #boot: string;
  #state: StateAfter | null = null;
  #sortition: Sortition | null = null;
  /** Number of tenures after which a reward matured in the last block with a reward. */
  #maturity: number | null = null;

  /** @param authorization the node's `auth_token` */
  constructor(
    readonly node: ThrottledNode,
    readonly authorization: string,
    readonly chain: ParentChain,
  ) {
    this.#boot = BOOT_ADDRESS[chain.network.kind];
  }

  /**
   * Makes a block's event.
   * @param decoded the block; the caller has checked that its id matches
   * @throws IncompleteBlockError, NodeUnreachableError; OperatorError if the node refuses the token
   */
  async make(decoded: NakamotoBlock, parent: Parent): Promise<FilledBlock> {
    const { consensusHash, chainLength } = decoded.header;
    const failure = (reason: string) => new IncompleteBlockError(chainLength, decoded.blockId, reason);
    if (this.#sortition?.consensus_hash !== toHex(consensusHash)) {
      const sortition = answerOrThrow(await requestSortition(this.node, `/consensus/${consensusHash.toHex()}`));
      if (sortition instanceof NoAnswer) throw failure(`its sortition is unknown (${sortition.reason})`);
      this.#sortition = sortition;
    }
    const parentId = parent.indexBlockHash.toHex();
    const before = this.#state?.id === parentId ? this.#state : new StateAfter(this.node, parentId);
    const after = new StateAfter(this.node, decoded.blockId.toHex());
    const context = { decoded, parent, before, after, sortition: this.#sortition, failure };
    try {
      const filled = await this.#make(context);
      this.#state = after;
      return filled;
    } catch (error) {
      if (!(error instanceof PayloadError || error instanceof DecodeError)) throw error;
      throw failure(`the node's answer can't be read: ${error.message}`);
    }
  }

  async #make(context: Context): Promise<FilledBlock> {
    const { decoded, parent, sortition, failure } = context;
    const replayed = await this.#replay(context);
    const beginsTenure = isTenureStart(replayed);
    if (parent.tenureHeight === null) throw failure("its parent's tenure height is unknown");
    const tenureHeight = parent.tenureHeight + (beginsTenure ? 1 : 0);
    const unlocks = await this.#unlocks(context);
    const transactions = [
      ...(await this.#epochContracts(context)),
      ...(await this.#postedTransactions(context, replayed)),
      ...(unlocks instanceof NoAnswer ? [] : unlocks),
    ];
    const rewardSet = beginsTenure ? await this.#rewardSet(context) : null;
    const event = {
      filled_from: FILLED_FROM,
      ...makeHeader(decoded, parent, sortition),
      // Only the first block of a tenure has its miner's commitment on Bitcoin, which the node never returns.
      miner_txid: beginsTenure ? ZEROS : toHex(parent.minerTxId),
      tenure_height: tenureHeight,
      cycle_number: rewardSet?.cycle ?? null,
      reward_set: rewardSet?.set ?? null,
      ...makeTransactions(transactions),
    };
    const unrewarded = { ...context, event, tenureHeight, unlocks };
    return beginsTenure ? this.#makeRewarded(unrewarded) : this.#verify(unrewarded, []);
  }

  /** Completes a block with its rewards, and compares its changes with the node. @throws IncompleteBlockError */
  async #verify(unrewarded: Unrewarded, matured: readonly PostedReward[]): Promise<FilledBlock> {
    const draft = this.#withRewards(unrewarded, matured);
    const { accounts, minted } = sumChanges(draft.block);
    await this.#requireSupply(unrewarded, minted);
    const unanswered = await this.#requireAccounts(unrewarded, accounts);
    await this.#requireLocks(unrewarded, draft.block);
    return { ...draft, unanswered };
  }

  #withRewards({ event }: Unrewarded, matured: readonly PostedReward[]): Pick<FilledBlock, 'text' | 'block'> {
    const text = exactJson({ ...event, matured_miner_rewards: matured });
    return { text, block: blockOfText(text, this.chain.network) };
  }

  /** Completes the first block of a tenure, with which the reward of an earlier tenure matures. */
  async #makeRewarded(unrewarded: Unrewarded): Promise<FilledBlock> {
    this.#maturity ??= await this.chain.maturity(unrewarded.parent.indexBlockHash);
    if (this.#maturity === null) {
      // Without an earlier reward, the node's supply shows whether any reward matures, and its accounts show the tenure.
      const withoutReward = await this.#verify(unrewarded, []).catch(incompleteOrThrow);
      if (!(withoutReward instanceof IncompleteBlockError)) return withoutReward;
      this.#maturity = await this.#findMaturity(unrewarded);
      if (this.#maturity === null) throw withoutReward;
    }
    return this.#verifyMatured(unrewarded, this.#maturity);
  }

  /**
   * Finds the maturity whose rewards agree with the node's accounts and supply.
   * @returns a number of tenures; null if none agrees
   * @throws IncompleteBlockError if several agree
   */
  async #findMaturity(unrewarded: Unrewarded): Promise<number | null> {
    const agrees = async (maturity: number): Promise<boolean> => {
      const block = await this.#verifyMatured(unrewarded, maturity).catch(incompleteOrThrow);
      return !(block instanceof IncompleteBlockError);
    };
    const [expected, others] = this.chain.isFromGenesis
      ? [unrewarded.tenureHeight - 1, []]
      : [PUBLIC_MATURITY, OTHER_MATURITIES];
    if (await agrees(expected)) return expected;
    const agreeing: number[] = [];
    for (const maturity of others) if (await agrees(maturity)) agreeing.push(maturity);
    if (agreeing.length > 1) throw unrewarded.failure('the tenure of its reward is unknown');
    return agreeing[0] ?? null;
  }

  /**
   * Completes a block with the rewards that mature after a number of tenures. The coinbase is the miner's income apart from its
   * transactions and fees.
   * @throws IncompleteBlockError
   */
  async #verifyMatured(unrewarded: Unrewarded, maturity: number): Promise<FilledBlock> {
    const { parent, failure } = unrewarded;
    const tenureHeight = unrewarded.tenureHeight - maturity;
    // Tenure 0, the genesis block, has no miner.
    if (tenureHeight < 1) return this.#verify(unrewarded, []);
    const [tenure, previous] = await Promise.all([
      this.chain.tenure(tenureHeight, parent.indexBlockHash),
      tenureHeight === 1 ? null : this.chain.tenure(tenureHeight - 1, parent.indexBlockHash),
    ]);
    if (tenure === null || (previous === null && tenureHeight > 1)) {
      throw failure(`the miner of tenure ${tenureHeight} is unknown`);
    }
    const { recipient } = tenure;
    const change = await this.#changeOf(unrewarded, recipient);
    if (change instanceof NoAnswer) throw failure(`the reward of ${recipient} is unknown (${change.reason})`);
    const { block } = this.#withRewards(unrewarded, rewards(tenure, previous, this.#boot, 0n));
    const coinbase = change.total - (sumChanges(block).accounts.get(recipient)?.total ?? 0n);
    if (coinbase >= 0n) return this.#verify(unrewarded, rewards(tenure, previous, this.#boot, coinbase));
    throw failure(`${recipient} has ${-coinbase} micro-STX less than its transactions leave it`);
  }

  async #replay({ decoded, failure }: Context): Promise<ReplayedTransaction[]> {
    const signal = AbortSignal.timeout(REPLAY_TIMEOUT_MS);
    const init = { headers: { authorization: this.authorization }, signal };
    const replayed = await request(this.node, `/v3/blocks/replay/${decoded.blockId.toHex()}`, Replay, init);
    if (replayed instanceof NoAnswer) {
      if (replayed.status !== UNAUTHORIZED) throw failure(`the node doesn't execute it again (${replayed.reason})`);
      throw new OperatorError(
        'The node refuses the token for replays of blocks.',
        "Name the node's configuration with --node-config, or write its auth_token into the file of --node-auth-file.",
      );
    }
    const bodies = Buffer.concat(replayed.transactions.map(({ hex }) => fromHex(hex)));
    if (!bytesEqual(bodies, decoded.transactions)) throw failure('its replay has different transactions');
    return replayed.transactions;
  }

  /**
   * Requests the source or interface of a contract. Neither ever changes, so the state after a later block has it, too.
   * @throws IncompleteBlockError if the node doesn't have it
   */
  async #askAbout<T extends TSchema>(
    { after, failure }: Context,
    what: 'source' | 'interface',
    contract: string,
    schema: T,
  ): Promise<Static<T>> {
    const path = `/v2/contracts/${what}/${contract.replace('.', '/')}?proof=0`;
    const answerAtBlock = await request(this.node, `${path}&tip=${after.id}`, schema);
    const answer = answerAtBlock instanceof NoAnswer ? await request(this.node, path, schema) : answerAtBlock;
    if (answer instanceof NoAnswer) throw failure(`the ${what} of ${contract} is unknown (${answer.reason})`);
    return answer;
  }

  /** Returns the transactions of the block's body. */
  #postedTransactions(context: Context, replayed: readonly ReplayedTransaction[]): Promise<PostedTransaction[]> {
    return Promise.all(
      replayed.map(async (transaction) => {
        const raw = fromHex(transaction.hex);
        const status = statusOf(transaction);
        const contract = status === 'success' ? deployedContract(raw) : null;
        return {
          raw,
          status,
          result: prefixed(transaction.result_hex),
          cost: transaction.execution_cost,
          contractInterface:
            contract === null ? null : await this.#askAbout(context, 'interface', contract, Type.Object({})),
          vmError: transaction.vm_error,
          events: transaction.events,
        };
      }),
    );
  }

  /** Returns a transaction that the node creates, with the boot address as the sender. */
  #fromBoot(payload: Uint8Array, events: readonly object[], contractInterface: object | null): PostedTransaction {
    const raw = bootTransaction(this.chain.network.kind === 'mainnet', payload);
    return { raw, events, contractInterface, status: 'success', result: OK_TRUE, cost: NO_COST, vmError: null };
  }

  /** Returns the contracts of the epochs that start with the block. */
  async #epochContracts(context: Context): Promise<PostedTransaction[]> {
    const { parent, sortition, before, after } = context;
    const pox = await after.pox();
    if (pox instanceof NoAnswer) return [];
    const startedEpochs = pox.epochs.filter(
      ({ start_height: start }) => parent.burnBlockHeight < start && start <= sortition.burn_block_height,
    );
    const postedTransactions: PostedTransaction[] = [];
    for (const { name, clarityVersion } of startedEpochs.flatMap(({ epoch_id: id }) => EPOCH_CONTRACTS[id] ?? [])) {
      const contract = `${this.#boot}.${name}`;
      const { source } = await this.#askAbout(context, 'source', contract, Source);
      const contractInterface = await this.#askAbout(context, 'interface', contract, Type.Object({}));
      const [previous, current] = [await before.account(contract), await after.account(contract)];
      const minted = totalOf(current) - totalOf(previous);
      const events = minted > 0n ? [mintEvent(contract, minted)] : [];
      const payload = deploymentPayload(name, source, clarityVersion);
      postedTransactions.push(this.#fromBoot(payload, events, contractInterface));
    }
    return postedTransactions;
  }

  /** Returns the unlocks of the genesis block's STX at this height, from the map of the boot contract `lockup`. */
  async #unlocks({ decoded, after }: Context): Promise<PostedTransaction[] | NoAnswer> {
    const height = decoded.header.chainLength;
    const path = `/v2/map_entry/${this.#boot}/lockup/lockups?proof=0&tip=${after.id}`;
    const init = {
      method: 'POST',
      body: JSON.stringify(toHex(clarity.uint(height))),
      headers: { 'content-type': 'application/json' },
    };
    const mapEntry = await request(this.node, path, Type.Object({ data: Type.String() }), init);
    if (mapEntry instanceof NoAnswer) return mapEntry;
    const entry = decodeClarity(fromHex(mapEntry.data));
    if (!entry.ok || entry.value.type !== 'some' || entry.value.value.type !== 'list') return [];
    const events = entry.value.value.value.flatMap((schedule) => {
      if (schedule.type !== 'tuple') return [];
      const [recipient, amount] = [schedule.value.get('recipient'), schedule.value.get('amount')];
      if (recipient?.type !== 'principal' || amount?.type !== 'uint') return [];
      return [mintEvent(recipient.value, amount.value)];
    });
    const payload = unlockPayload(principalBytes(this.#boot)!, height);
    return events.length === 0 ? [] : [this.#fromBoot(payload, events, null)];
  }

  /** Returns the signers of the next cycle, if this block is the first in the phase that chooses them. */
  async #rewardSet({ parent, sortition, after }: Context) {
    const pox = await after.pox();
    if (pox instanceof NoAnswer) return null;
    const cycle = chosenCycle(pox, sortition.burn_block_height);
    if (cycle === null || cycle === chosenCycle(pox, parent.burnBlockHeight)) return null;
    const signers = answerOrThrow(await requestSigners(this.node, cycle, after.id));
    if (signers instanceof NoAnswer) return null;
    return { cycle, set: { signers } };
  }

  async #changeOf({ before, after }: Context, principal: string): Promise<AccountChange | NoAnswer> {
    const [previous, current] = await Promise.all([before.account(principal), after.account(principal)]);
    if (previous instanceof NoAnswer) return previous;
    if (current instanceof NoAnswer) return current;
    return { total: totalOf(current) - totalOf(previous), nonces: current.nonce - previous.nonce };
  }

  /** Compares the change of the supply. @throws IncompleteBlockError */
  async #requireSupply({ before, after, unlocks, failure }: Unrewarded, minted: bigint): Promise<void> {
    const [previous, current] = await Promise.all([before.pox(), after.pox()]);
    if (previous instanceof NoAnswer || current instanceof NoAnswer) {
      if (unlocks instanceof NoAnswer) throw failure(`its unlocked STX are unknown (${unlocks.reason})`);
      return;
    }
    const change = BigInt(current.total_liquid_supply_ustx) - BigInt(previous.total_liquid_supply_ustx);
    const missing = change - minted;
    if (missing === 0n) return;
    const cause = unlocks instanceof NoAnswer ? `, and its unlocked STX are unknown (${unlocks.reason})` : '';
    throw failure(`its transactions and rewards leave ${missing} micro-STX of the supply's change unexplained${cause}`);
  }

  /**
   * Compares each account that the block changed.
   * @returns the number of accounts that the node returned no state for
   * @throws IncompleteBlockError
   */
  async #requireAccounts(context: Context, accounts: ReadonlyMap<string, AccountChange>): Promise<number> {
    const changes = [...accounts].filter(([principal]) => principal !== this.#boot);
    let unanswered = 0;
    await Promise.all(
      changes.map(async ([principal, expected]) => {
        const change = await this.#changeOf(context, principal);
        if (change instanceof NoAnswer) unanswered += 1;
        else if (change.total !== expected.total || change.nonces !== expected.nonces) {
          const describe = ({ total, nonces }: AccountChange) => `${total} micro-STX and ${nonces} nonces`;
          throw context.failure(
            `${principal} changed by ${describe(change)}, its transactions by ${describe(expected)}, as after an operation on Bitcoin`,
          );
        }
      }),
    );
    return unanswered;
  }

  /** Compares each lock that the block made. @throws IncompleteBlockError */
  async #requireLocks({ after, failure }: Context, block: Block): Promise<void> {
    const locks = new Map<string, { amount: bigint; unlockHeight: number }>();
    for (const event of block.transactions.flatMap(({ events }) => [...events])) {
      if (event.kind !== 'stx_lock') continue;
      locks.set(event.address, { amount: BigInt(event.amount), unlockHeight: event.unlockHeight });
    }
    const pox = locks.size === 0 ? null : await after.pox();
    const burnHeight = pox === null || pox instanceof NoAnswer ? -1 : pox.current_burnchain_block_height;
    for (const [principal, { amount, unlockHeight }] of locks) {
      const state = await after.account(principal);
      // A lock of pox to pox-4 ends earlier if an epoch ends all locks.
      if (state instanceof NoAnswer || (state.locked === amount && state.unlockHeight <= unlockHeight)) continue;
      // Bitcoin may have passed the lock's end since it elected the tenure.
      if (state.locked === 0n && unlockHeight <= burnHeight) continue;
      throw failure(
        `${principal} has ${state.locked} micro-STX locked until ${state.unlockHeight}, by its transactions ${amount} until ${unlockHeight}`,
      );
    }
  }
}

/** Reports whether a block starts a tenure: its first transaction changes the tenure for a new Bitcoin block (SIP-021). */
function isTenureStart([first]: readonly ReplayedTransaction[]): boolean {
  const decoded = first === undefined ? null : decodeKnownParts(fromHex(first.hex));
  if (decoded?.ok !== true) return false;
  const { payload } = decoded.value;
  return payload.type === 'tenure_change' && payload.cause === 'block_found';
}

/** Returns the contract that a transaction deploys; null for others. */
function deployedContract(raw: Uint8Array): string | null {
  const decoded = decodeKnownParts(raw);
  if (!decoded.ok || decoded.value.payload.type !== 'smart_contract') return null;
  return `${decoded.value.origin.address}.${decoded.value.payload.contractName}`;
}

/** Returns the error of a block that can't be completed. @throws any other error */
function incompleteOrThrow(error: unknown): IncompleteBlockError {
  if (error instanceof IncompleteBlockError) return error;
  throw error;
}

/** The status of a request without the right token. */
const UNAUTHORIZED = 401;

/** Returns an account's micro-STX, including locked micro-STX; 0 if the node has no answer. */
const totalOf = (state: AccountFacts | NoAnswer): bigint =>
  state instanceof NoAnswer ? 0n : state.balance + state.locked;

/**
 * Returns the Bitcoin heights at which the node ends the locks of pox to pox-4 (SIP-015, SIP-022, SIP-029 and their
 * epochs).
 */
export async function poxUnlockHeights(node: ThrottledNode, id: Uint8Array): Promise<Block['poxUnlockHeights']> {
  const pox = await request(node, `/v2/pox?tip=${id.toHex()}`, Pox);
  if (pox instanceof NoAnswer) return [null, null, null, null];
  const activation = (name: string): number | null =>
    pox.contract_versions.find(({ contract_id }) => contract_id.endsWith(`.${name}`))
      ?.activation_burnchain_block_height ?? null;
  const lockEnd = (epoch: string): number | null => {
    const epochFacts = pox.epochs.find(({ epoch_id }) => epoch_id === epoch);
    return epochFacts === undefined ? null : epochFacts.start_height + 1;
  };
  return [activation('pox-2'), lockEnd('Epoch22'), lockEnd('Epoch25'), activation('pox-5') ?? UNKNOWN_HEIGHT];
}
/** End of pox-4's locks in the node's events if no height is set. */
const UNKNOWN_HEIGHT = 0xffff_ffff;

/** Returns the cycle for which signers are chosen at a Bitcoin height; null outside of a prepare phase. */
function chosenCycle(pox: Static<typeof Pox>, burnHeight: number): number | null {
  const length = pox.prepare_phase_block_length + pox.reward_phase_block_length;
  const height = burnHeight - pox.first_burnchain_block_height;
  const inPreparePhase = height % length === 0 || height % length > pox.reward_phase_block_length;
  return inPreparePhase ? Math.ceil(height / length) : null;
}

function makeHeader({ header, blockHash, blockId }: NakamotoBlock, parent: Parent, sortition: Sortition) {
  const [pox1, pox2, pox3, pox4] = parent.poxUnlockHeights;
  return {
    block_hash: toHex(blockHash),
    block_height: header.chainLength,
    block_time: header.timestamp,
    burn_block_hash: sortition.burn_block_hash,
    burn_block_height: sortition.burn_block_height,
    burn_block_time: sortition.burn_header_timestamp,
    confirmed_microblocks_cost: NO_COST,
    consensus_hash: toHex(header.consensusHash),
    index_block_hash: toHex(blockId),
    miner_signature: toHex(header.minerSignature),
    parent_block_hash: toHex(parent.blockHash),
    parent_burn_block_hash: toHex(parent.burnBlockHash),
    parent_burn_block_height: parent.burnBlockHeight,
    parent_burn_block_timestamp: parent.burnBlockTime,
    parent_index_block_hash: toHex(parent.indexBlockHash),
    parent_microblock: ZEROS,
    parent_microblock_sequence: 0,
    pox_v1_unlock_height: pox1,
    pox_v2_unlock_height: pox2,
    pox_v3_unlock_height: pox3,
    pox_v4_unlock_height: pox4,
    signer_bitvec: header.poxTreatment.toHex(),
    signer_signature: header.signerSignatures.map((signature) => signature.toHex()),
    signer_signature_hash: toHex(blockHash),
  };
}

/** Returns the transactions with their events. The event index counts over the block. */
function makeTransactions(transactions: readonly PostedTransaction[]) {
  let index = 0;
  const cost: Record<string, number | bigint> = { ...NO_COST };
  const events: object[] = [];
  const posted = transactions.map((transaction, txIndex) => {
    const txid = toHex(transactionId(transaction.raw));
    for (const event of transaction.events) events.push({ ...event, txid, event_index: index++ });
    for (const [part, amount] of Object.entries(transaction.cost)) {
      cost[part] = BigInt(cost[part] ?? 0) + BigInt(amount);
    }
    return {
      burnchain_op: null,
      contract_interface: transaction.contractInterface,
      execution_cost: transaction.cost,
      microblock_hash: null,
      microblock_parent_hash: null,
      microblock_sequence: null,
      raw_result: transaction.result,
      raw_tx: toHex(transaction.raw),
      status: transaction.status,
      tx_index: txIndex,
      txid,
      vm_error: transaction.vmError,
    };
  });
  return { anchored_cost: cost, transactions: posted, events };
}
