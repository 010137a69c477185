/** The accounts of a simulated node whose keys are in this process. */
import type { Network } from './network.ts';
import { type Account, accounts } from './wallet.ts';

export class NodeAccounts {
  /** Accounts that commands have named, by name. */
  readonly #derived = new Map<string, Account>();

  /**
   * @param ofNetwork named accounts of the network
   * @param seed of the accounts that commands name
   */
  constructor(
    readonly faucet: Account,
    readonly ofNetwork: readonly (Account & { readonly name: string })[],
    readonly seed: number,
    readonly network: Network,
  ) {}

  get all(): Account[] {
    return [...this.ofNetwork, this.faucet, ...this.#derived.values()];
  }

  get names(): string[] {
    return [...this.ofNetwork.map(({ name }) => name), ...this.derivedNames];
  }

  /** Names of the accounts that commands have named. */
  get derivedNames(): string[] {
    return [...this.#derived.keys()];
  }

  /** Returns the account with a name: an account of the network, or one derived from the seed, which has no funds yet. */
  named(name: string): Account {
    const existing = this.findNamed(name);
    if (existing !== undefined) return existing;
    const [derived] = accounts(`${this.seed}/${name}`, 'named', 1, this.network);
    this.#derived.set(name, derived!);
    return derived!;
  }

  /** Returns the account with a name, if it belongs to the network or {@link named} has returned it. */
  findNamed(name: string): Account | undefined {
    return this.ofNetwork.find((account) => account.name === name) ?? this.#derived.get(name);
  }

  findByAddress(address: string): Account | undefined {
    return this.all.find((account) => account.address === address);
  }
}
