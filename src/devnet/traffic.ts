/** Transactions of simulated users: how they are made up, announced, replaced and dropped before they are mined. */

import { stacksAddress } from '../codec/address.ts';
import { deploymentPayload } from '../codec/boot-transaction.ts';
import { toHex } from '../codec/hex.ts';
import type { ContractTemplate, PostConditions, Scene } from './contract.ts';
import { namesOf } from './contracts/bns.ts';
import { collectible } from './contracts/collectible.ts';
import { gems } from './contracts/gems.ts';
import { journal } from './contracts/journal.ts';
import { token } from './contracts/token.ts';
import { treasury } from './contracts/treasury.ts';
import type { Network } from './network.ts';
import { type NodeEvent, nodeEvent } from './node-event.ts';
import type { Prng } from './prng.ts';
import {
  type Action,
  amountCodes,
  contractCall,
  type Fate,
  makeTransaction,
  memoBytes,
  payerOf,
  postConditions,
  type SignedTransaction,
  type Signer,
  type SimulatedTransaction,
  stxCondition,
  tokenTransfer,
} from './transaction.ts';
import type { Account } from './wallet.ts';
import type { World } from './world.ts';

/** Contracts that users deploy: on every chain, and on a chain with semi-fungible tokens. */
const basicTemplates: readonly ContractTemplate[] = [token, collectible, treasury, journal];
export const templates: readonly ContractTemplate[] = [...basicTemplates, gems];
const memos = ['', '', '', 'rent', 'order 4711', 'thank you ☕', 'line\u0000zero'];
const flawedSource = '(no-such-function)\n';
const sourceFlaw = ":1:1: use of unresolved function 'no-such-function'";
const bootContracts = { stack: 'pox-4', stake: 'pox-5', name: 'bns' } as const;
const noAddresses: ReadonlySet<string> = new Set();
/** Minimum micro-STX that an account needs to act: the fee, and an amount to send or lock. */
const minimumFunds = 2_000_000n;

export interface TrafficOptions {
  /** Approximate percentage of users' transactions that call pox-5. Default 6. */
  readonly staking?: number;
  /** Whether users also deploy semi-fungible tokens. Default false. */
  readonly semiFungible?: boolean;
  /** Approximate percentage of users' transactions that empty a balance of STX or tokens. Default 0. */
  readonly emptying?: number;
}

interface Participants {
  readonly users: readonly Account[];
  readonly sponsors: readonly Account[];
  readonly network: Network;
}

/** Makes up users' transactions. */
export class Traffic {
  readonly users: readonly Account[];
  readonly #sponsors: readonly Account[];
  readonly #network: Network;
  readonly #staking: number;
  readonly #emptying: number;
  readonly #templates: readonly ContractTemplate[];
  readonly #byAddress: ReadonlyMap<string, Account>;
  #deployments = 0;

  constructor(
    readonly prng: Prng,
    { users, sponsors, network, staking = 6, semiFungible = false, emptying = 0 }: TrafficOptions & Participants,
  ) {
    this.users = users;
    this.#sponsors = sponsors;
    this.#network = network;
    this.#staking = staking;
    this.#emptying = emptying;
    this.#templates = semiFungible ? templates : basicTemplates;
    this.#byAddress = new Map(users.map((user) => [user.address, user]));
  }

  /**
   * Makes up a transaction that can be mined after `world`.
   *
   * @param busy addresses with a waiting transaction, whose nonce must not be used
   */
  next(world: World, burnHeight: number, busy: ReadonlySet<string>): SimulatedTransaction {
    const isEmptying = this.#emptying > 0 && this.prng.chance(this.#emptying / 100);
    const emptied = isEmptying ? this.#emptyBalance(world, burnHeight, busy) : undefined;
    if (emptied !== undefined) return emptied;
    const origin = this.#pickUser(world, burnHeight, busy);
    const sender = origin.address;
    const kind = this.#pickKind(world, burnHeight);
    switch (kind) {
      case 'transfer':
        return this.transfer(origin, world.nonce(sender), world.spendable(sender, burnHeight), this.#fee(), world);
      case 'deploy':
        return this.#deploy(origin, world);
      default: {
        const contract = this.#contractFor(kind, world);
        return this.#call(this.#caller(contract, world, burnHeight, busy) ?? origin, contract, world, burnHeight);
      }
    }
  }

  #pickKind(world: World, burnHeight: number): 'transfer' | 'call' | 'deploy' | 'stack' | 'stake' | 'name' {
    // A new chain first gets one contract of each kind, and some names.
    if (world.userContracts.length < this.#templates.length && this.prng.chance(0.4)) return 'deploy';
    if (namesOf({ world, contract: this.#contractFor('name', world) }) === 0 && this.prng.chance(0.15)) return 'name';
    return this.prng.weighted([
      [42, 'transfer'],
      [45, 'call'],
      [2, 'deploy'],
      [world.isActive('pox-4', burnHeight) ? 3 : 0, 'stack'],
      [world.isActive('pox-5', burnHeight) ? this.#staking : 0, 'stake'],
      [8, 'name'],
    ] as const);
  }

  /** Makes up a transaction that empties a balance; returns undefined if no free user can. */
  #emptyBalance(world: World, burnHeight: number, busy: ReadonlySet<string>): SimulatedTransaction | undefined {
    const { prng } = this;
    const free = this.users.filter((user) => this.#isFree(user, world, burnHeight, busy));
    if (free.length === 0) return undefined;
    const unlocked = free.filter(({ address }) => world.locked(address, burnHeight) === undefined);
    // Most users must keep enough funds to continue.
    if (unlocked.length > 0 && free.length > this.users.length / 2 && prng.chance(0.2)) {
      const account = prng.pick(unlocked);
      const { address } = account;
      const signer = { account, nonce: world.nonce(address), fee: this.#fee() };
      const amount = world.balance(address) - signer.fee;
      return this.#transferOf(signer, this.#pickRecipient(address, world), amount, '', world);
    }
    const calls = world.userContracts.flatMap(({ id, template }) =>
      free.flatMap((origin) => {
        const call = template.empty?.(this.#scene(origin.address, id, world, burnHeight));
        return call === undefined ? [] : [{ origin, contract: id, call }];
      }),
    );
    if (calls.length === 0) return undefined;
    const { origin, contract, call } = prng.pick(calls);
    const signer = { account: origin, nonce: world.nonce(origin.address), fee: this.#fee() };
    const payload = contractCall(contract, call.functionName, call.args);
    return this.#sign(signer, payload, { kind: 'call', contract, call }, world, 'success', call.postConditions);
  }

  /** Returns a transfer with a given nonce and fee, for transactions that are replaced or never mined. */
  transfer(origin: Account, nonce: number | bigint, funds: bigint, fee: bigint, world: World): SimulatedTransaction {
    const { prng } = this;
    const amount = BigInt(prng.between(1, 1 + Math.min(Number(funds / 100n), 900_000_000)));
    const recipient = this.#pickRecipient(origin.address, world);
    return this.#transferOf({ account: origin, nonce, fee }, recipient, amount, prng.pick(memos), world);
  }

  #transferOf(origin: Signer, recipient: string, amount: bigint, memo: string, world: World): SimulatedTransaction {
    const payload = tokenTransfer(recipient, amount, memo);
    const action: Action = { kind: 'transfer', recipient, amount, memo: memoBytes(memo) };
    return this.#sign(origin, payload, action, world);
  }

  #deploy(origin: Account, world: World): SimulatedTransaction {
    const template = this.#templates[this.#deployments % this.#templates.length]!;
    const name = `${template.name}-${this.#deployments++}`;
    // The first deployments succeed, so that there are contracts to call.
    const isFlawed = this.#deployments > this.#templates.length && this.prng.chance(0.1);
    const flaw = isFlawed ? sourceFlaw : null;
    const source = isFlawed ? flawedSource : template.source;
    const payload = deploymentPayload(name, source, template.clarityVersion ?? null);
    const signer = { account: origin, nonce: world.nonce(origin.address), fee: this.#fee() * 20n };
    return this.#sign(signer, payload, { kind: 'deploy', name, template, flaw, isFromClient: false }, world);
  }

  #call(origin: Account, contract: string, world: World, burnHeight: number): SimulatedTransaction {
    const { prng } = this;
    const sender = origin.address;
    const { template } = world.contract(contract)!;
    const call = template.propose!(this.#scene(sender, contract, world, burnHeight));
    const payload = contractCall(contract, call.functionName, call.args);
    const fate: Fate = prng.weighted([
      [200, 'success'],
      [8, 'abort_by_post_condition'],
      [1, 'problematic_skipped'],
    ] as const);
    // A condition that no call meets: that the caller sends more STX than exist.
    const unmetConditions = postConditions([stxCondition(sender, amountCodes.greater, 2n ** 63n)]);
    const conditions = fate === 'abort_by_post_condition' ? unmetConditions : call.postConditions;
    const signer = { account: origin, nonce: world.nonce(sender), fee: this.#fee() };
    return this.#sign(signer, payload, { kind: 'call', contract, call }, world, fate, conditions);
  }

  #scene(sender: string, contract: string, world: World, burnHeight: number): Scene {
    const recipient = () => this.#pickRecipient(sender, world);
    return { prng: this.prng, world, contract, sender, burnHeight, recipient };
  }

  /** Signs a transaction. A sponsor pays the fee of one transaction in sixteen. */
  #sign(
    origin: Signer,
    payload: Uint8Array,
    action: Action,
    world: World,
    fate?: Fate,
    conditions?: PostConditions,
  ): SimulatedTransaction {
    const withConditions = conditions === undefined ? {} : { postConditions: conditions };
    const account = this.prng.pick(this.#sponsors);
    const isNext = origin.nonce === world.nonce(origin.account.address);
    if (!isNext || !this.prng.chance(1 / 16) || world.balance(account.address) < origin.fee) {
      return makeTransaction({ payload, origin, ...withConditions }, action, this.#network, fate);
    }
    const sponsor = { account, nonce: world.nonce(account.address), fee: origin.fee };
    const sponsored = { payload, origin: { ...origin, fee: 0n }, sponsor, ...withConditions };
    return makeTransaction(sponsored, action, this.#network, fate);
  }

  /** Returns a caller; sometimes an owner of the contract's tokens. */
  #caller(contract: string, world: World, burnHeight: number, busy: ReadonlySet<string>): Account | undefined {
    if (!this.prng.chance(0.6)) return undefined;
    const holder = world.contract(contract)?.template.holder?.(world, contract, this.prng);
    const user = holder === undefined ? undefined : this.#byAddress.get(holder);
    return user !== undefined && this.#isFree(user, world, burnHeight, busy) ? user : undefined;
  }

  #pickUser(world: World, burnHeight: number, busy: ReadonlySet<string>): Account {
    for (let tries = 0; tries < 500; tries++) {
      const user = this.prng.pick(this.users);
      // If all users seem busy, a busy user is chosen, and its waiting transaction loses the nonce.
      if (this.#isFree(user, world, burnHeight, tries < 200 ? busy : noAddresses)) return user;
    }
    throw new Error('no account is left that could pay for a transaction; the chain needs more accounts');
  }

  #isFree(user: Account, world: World, burnHeight: number, busy: ReadonlySet<string>): boolean {
    return !busy.has(user.address) && world.spendable(user.address, burnHeight) >= minimumFunds;
  }

  #contractFor(kind: 'call' | keyof typeof bootContracts, world: World): string {
    return kind === 'call' ? this.#pickContract(world) : `${this.#network.boot}.${bootContracts[kind]}`;
  }

  /** Picks a contract of a user. Older contracts are more likely, so that a few are popular. */
  #pickContract(world: World): string {
    const contracts = world.userContracts;
    if (contracts.length === 0) return `${this.#network.boot}.pox-4`;
    return contracts[Math.floor(contracts.length * (this.prng.below(1000) / 1000) ** 3)]!.id;
  }

  #pickRecipient(sender: string, world: World): string {
    const kind = this.prng.weighted([
      [80, 'user'],
      [15, 'newcomer'],
      [5, 'contract'],
    ] as const);
    if (kind === 'newcomer') return stacksAddress(this.#network.addressVersion, this.prng.bytes(20));
    if (kind === 'contract') return this.#pickContract(world);
    const user = this.prng.pick(this.users).address;
    return user === sender ? stacksAddress(this.#network.addressVersion, this.prng.bytes(20)) : user;
  }

  /** Returns a fee in micro-STX: mostly low, sometimes high. */
  #fee(): bigint {
    return BigInt(this.prng.chance(0.1) ? this.prng.between(3_000, 50_000) : this.prng.between(180, 3_000));
  }
}

/** Reasons other than replacement for which a node drops transactions. */
const dropReasons = ['StaleGarbageCollect', 'TooExpensive', 'Problematic'] as const;
/** Minimum distance to the next nonce, so that a transaction never becomes minable. */
const nonceGap = 1000;

/** The mempool of simulated users: transactions that are announced before they are mined, replaced, or dropped. */
export class UserMempool {
  /** Announced transactions that wait for a later block. */
  #waiting: SignedTransaction[] = [];
  /** Ids of announced transactions that will never be mined. */
  #hopeless: string[] = [];

  constructor(
    readonly prng: Prng,
    readonly traffic: Traffic,
  ) {}

  get waiting(): readonly SignedTransaction[] {
    return this.#waiting;
  }

  /** Ids of the announced transactions that no block contains. */
  get announcedIds(): string[] {
    return [...this.#waiting.map(({ id }) => id), ...this.#hopeless];
  }

  /** Removes announced transactions. */
  drop(ids: readonly string[]): void {
    this.#waiting = this.#waiting.filter(({ id }) => !ids.includes(id));
    this.#hopeless = this.#hopeless.filter((id) => !ids.includes(id));
  }

  /** Returns the addresses whose next nonce on this branch belongs to a waiting transaction. */
  busy(world: World): Set<string> {
    const busy = new Set<string>();
    for (const { origin } of this.#waiting) {
      if (origin.nonce === world.nonce(origin.account.address)) busy.add(origin.account.address);
    }
    return busy;
  }

  /**
   * Returns the events before a block with the transactions `fresh`, in order, spread over the given time (Unix
   * milliseconds).
   *
   * @param replaced transactions of another branch whose nonce a fresh transaction uses on this branch
   */
  announce(
    fresh: readonly SimulatedTransaction[],
    replaced: readonly SignedTransaction[],
    world: World,
    burnHeight: number,
    from: number,
    to: number,
  ): NodeEvent[] {
    const { prng } = this;
    const messages: { path: string; body: unknown }[] = [];
    const add = (transactions: readonly SignedTransaction[]) =>
      messages.push({ path: '/new_mempool_tx', body: transactions.map(({ raw }) => toHex(raw)) });
    const drop = (ids: readonly string[], reason: string, replacement: string | null) =>
      messages.push({ path: '/drop_mempool_tx', body: { dropped_txids: ids, new_txid: replacement, reason } });

    let batch: SignedTransaction[] = [];
    const flush = () => {
      if (batch.length > 0) add(batch);
      batch = [];
    };
    for (const transaction of fresh) {
      const rival = replaced.find((other) => sameNonce(other, transaction));
      if (rival !== undefined) {
        flush();
        drop([rival.id], 'ReplaceAcrossFork', transaction.id);
      } else if (prng.chance(0.15)) {
        // Sent directly to the miner, so it isn't announced before the block.
        continue;
      } else if (prng.chance(0.05) && transaction.sponsor === undefined && payerOf(transaction).fee > 200n) {
        flush();
        const cheaper = this.#cheaper(transaction, world);
        add([cheaper]);
        drop([cheaper.id], 'ReplaceByFee', transaction.id);
      }
      batch.push(transaction);
      if (prng.chance(0.4)) flush();
    }
    flush();
    for (const transaction of this.#later(world, burnHeight)) add([transaction]);
    if (this.#hopeless.length > 0 && prng.chance(0.2)) {
      const ids = this.#hopeless.splice(0, prng.between(1, 3));
      drop(ids, prng.pick(dropReasons), null);
    }

    const step = (to - from) / (messages.length + 1);
    return messages.map(({ path, body }, i) => nodeEvent(path, body, Math.floor(from + step * (i + 1))));
  }

  /** Removes transactions that a block of this branch has mined or invalidated. */
  removeMined(world: World): void {
    this.#waiting = this.#waiting.filter(({ origin }) => origin.nonce >= world.nonce(origin.account.address));
  }

  /** Makes new transactions that are announced now, and mined later or never. */
  #later(world: World, burnHeight: number): SignedTransaction[] {
    const { prng, traffic } = this;
    const announced: SignedTransaction[] = [];
    const busy = this.busy(world);
    // An account with a waiting transaction sends nothing else, so most accounts must stay free.
    if (prng.chance(0.3) && busy.size < traffic.users.length / 4) {
      const transaction = traffic.next(world, burnHeight, busy);
      // A sponsor serves many users, so its nonce would be used before this transaction is mined.
      if (transaction.sponsor === undefined) {
        this.#waiting.push(transaction);
        announced.push(transaction);
      }
    }
    if (prng.chance(0.2)) {
      const user = prng.pick(traffic.users);
      const nonce = world.nonce(user.address) + nonceGap + prng.below(nonceGap);
      const transaction = traffic.transfer(user, nonce, 10_000_000n, 200n, world);
      this.#hopeless.push(transaction.id);
      announced.push(transaction);
    }
    return announced;
  }

  #cheaper({ origin }: SimulatedTransaction, world: World): SimulatedTransaction {
    // Not sponsored: the sponsor's nonce is already used in `world`.
    return this.traffic.transfer(origin.account, origin.nonce, 10_000_000n, origin.fee / 2n, world);
  }
}

function sameNonce(a: SignedTransaction, b: SignedTransaction): boolean {
  return a.id !== b.id && a.origin.nonce === b.origin.nonce && a.origin.account.address === b.origin.account.address;
}
