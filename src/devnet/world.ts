import type { ChainEvent, ContractTemplate, Lock, WorldView } from './contract.ts';
import { forkAll, LayeredMap } from './layered-map.ts';
import { emptyStaking, type StakingState } from './staking-state.ts';

interface DeployedContract {
  /** Identifier: `ADDRESS.name`. */
  readonly id: string;
  readonly template: ContractTemplate;
  /** Height of the block that it was deployed in. */
  readonly height: number;
}

/** Returns the state before block 0. */
const emptyState = () => ({
  stx: new LayeredMap<bigint>(),
  nonces: new LayeredMap<number>(),
  fungible: new LayeredMap<bigint>(),
  supplies: new LayeredMap<bigint>(),
  /** Owner by asset and token; empty text for a burnt token. */
  owners: new LayeredMap<string>(),
  minted: new LayeredMap<number>(),
  locks: new LayeredMap<Lock>(),
  /** Contracts' stored values, by contract and key. */
  stored: new LayeredMap<string>(),
  contractById: new LayeredMap<DeployedContract>(),
});

/**
 * The whole state after a block: balances, owners, nonces, contracts and stacked STX.
 *
 * Balances change only by events, fees and rewards, as indexers of the chain see them. Overdrawing a balance is a
 * mistake of the simulation and throws.
 */
export class World implements WorldView {
  readonly #state: ReturnType<typeof emptyState>;
  readonly staking: StakingState;
  #userContracts: readonly DeployedContract[];
  #supply: bigint;

  /**
   * @param parent the previous state; undefined before block 0
   * @param pox5Height burn height at which pox-5 replaces pox-4; undefined if both are always active
   */
  constructor(
    parent?: World,
    readonly pox5Height: number | undefined = parent?.pox5Height,
  ) {
    this.#state = parent === undefined ? emptyState() : forkAll(parent.#state);
    this.staking = parent === undefined ? emptyStaking() : forkAll(parent.staking);
    this.#userContracts = parent === undefined ? [] : parent.#userContracts;
    this.#supply = parent === undefined ? 0n : parent.#supply;
  }

  /** Returns the state for a child block. This state must not change any more. */
  fork(): World {
    return new World(this);
  }

  isActive(contract: 'pox-4' | 'pox-5', burnHeight: number): boolean {
    if (this.pox5Height === undefined) return true;
    const isPox5 = burnHeight >= this.pox5Height;
    return contract === 'pox-5' ? isPox5 : !isPox5;
  }

  balance(principal: string): bigint {
    return this.#state.stx.get(principal) ?? 0n;
  }

  /** Returns the micro-STX of every principal that ever had some. */
  balances(): Map<string, bigint> {
    return this.#state.stx.entries();
  }

  /** Returns the minted micro-STX minus the burnt micro-STX. It includes fees that their miner receives later. */
  supply(): bigint {
    return this.#supply;
  }

  locked(principal: string, burnHeight: number): Lock | undefined {
    const lock = this.#state.locks.get(principal);
    return lock !== undefined && lock.unlockHeight > burnHeight ? lock : undefined;
  }

  spendable(principal: string, burnHeight: number): bigint {
    return this.balance(principal) - (this.locked(principal, burnHeight)?.amount ?? 0n);
  }

  /** Returns the locked micro-STX at a burn height. */
  stacked(burnHeight: number): bigint {
    const locks = [...this.#state.locks.entries().values()].filter(({ unlockHeight }) => unlockHeight > burnHeight);
    return locks.reduce((sum, { amount }) => sum + amount, 0n);
  }

  nonce(address: string): number {
    return this.#state.nonces.get(address) ?? 0;
  }

  fungibleBalance(asset: string, principal: string): bigint {
    return this.#state.fungible.get(`${asset} ${principal}`) ?? 0n;
  }

  fungibleSupply(asset: string): bigint {
    return this.#state.supplies.get(asset) ?? 0n;
  }

  ownerOf(asset: string, value: Uint8Array): string | undefined {
    return this.#state.owners.get(`${asset} ${value.toHex()}`) || undefined;
  }

  mintedOf(asset: string): number {
    return this.#state.minted.get(asset) ?? 0;
  }

  stored(contract: string, key: string): string | undefined {
    return this.#state.stored.get(`${contract} ${key}`);
  }

  store(contract: string, key: string, value: string): void {
    this.#state.stored.set(`${contract} ${key}`, value);
  }

  /** The contracts that simulated users deployed, which other users call; oldest first. */
  get userContracts(): readonly DeployedContract[] {
    return this.#userContracts;
  }

  contract(id: string): DeployedContract | undefined {
    return this.#state.contractById.get(id);
  }

  /** Adds a contract that isn't among {@link userContracts}: a boot contract, or a client's. */
  install(contract: DeployedContract): void {
    this.#state.contractById.set(contract.id, contract);
  }

  /** Adds a contract of a simulated user. */
  deploy(contract: DeployedContract): void {
    this.install(contract);
    this.#userContracts = [...this.#userContracts, contract];
  }

  useNonce(address: string): void {
    this.#state.nonces.set(address, this.nonce(address) + 1);
  }

  credit(principal: string, amount: bigint): void {
    this.#state.stx.set(principal, this.balance(principal) + amount);
  }

  debit(principal: string, amount: bigint): void {
    const rest = this.balance(principal) - amount;
    if (rest < 0n) throw new Error(`${principal} overdraws its balance by ${-rest} micro-STX`);
    this.#state.stx.set(principal, rest);
  }

  /** Pays a coinbase, which mints the STX. */
  mint(principal: string, amount: bigint): void {
    this.credit(principal, amount);
    this.#supply += amount;
  }

  apply(event: ChainEvent): void {
    if (event.type === 'contract_event') {
      event.staking?.(this.staking);
      return;
    }
    if (event.type === 'stx_lock_event') {
      const { address, amount, contract } = event;
      // Once pox-5 is active, the node releases pox-4's locks.
      const pox5Height = contract.endsWith('.pox-4') ? this.pox5Height : undefined;
      const unlockHeight = Math.min(event.unlockHeight, (pox5Height ?? Number.POSITIVE_INFINITY) + 1);
      this.#state.locks.set(address, { amount, unlockHeight });
      return;
    }
    const sender = 'sender' in event ? event.sender : undefined;
    const recipient = 'recipient' in event ? event.recipient : undefined;
    if (!('asset' in event)) {
      if (sender !== undefined) this.debit(sender, event.amount);
      if (recipient !== undefined) this.credit(recipient, event.amount);
      if (sender === undefined) this.#supply += event.amount;
      if (recipient === undefined) this.#supply -= event.amount;
    } else if ('amount' in event) {
      if (sender !== undefined) this.#addFungible(event.asset, sender, -event.amount);
      if (recipient !== undefined) this.#addFungible(event.asset, recipient, event.amount);
    } else {
      this.#state.owners.set(`${event.asset} ${event.value.toHex()}`, recipient ?? '');
      if (event.type === 'nft_mint_event') this.#state.minted.set(event.asset, this.mintedOf(event.asset) + 1);
    }
  }

  #addFungible(asset: string, principal: string, amount: bigint): void {
    const sum = this.fungibleBalance(asset, principal) + amount;
    if (sum < 0n) throw new Error(`${principal} overdraws its ${asset} by ${-sum}`);
    this.#state.fungible.set(`${asset} ${principal}`, sum);
    this.#state.supplies.set(asset, this.fungibleSupply(asset) + amount);
  }
}
