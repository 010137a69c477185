/** A network that executes contracts: a Clarinet project's accounts and contracts, and a node that mines for them. */

import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { deploymentPayload } from '../../codec/boot-transaction.ts';
import { DEFAULT_START, FAUCET_FUNDS, faucetOf } from '../chain.ts';
import { networks } from '../network.ts';
import { type Deployment, type NodeOptions, RefusedDeployment, SimulatedNode } from '../node.ts';
import { impersonate } from '../wallet.ts';
import { type ClarityEngine, EngineEndedError } from './engine.ts';
import { BITCOIN_SECONDS, BLOCK_SECONDS, ClarityMiner, EPOCH } from './miner.ts';
import { type ClarinetProject, metadataOf, type ProjectContract } from './project.ts';
import type { SavedNetwork } from './state.ts';

interface RealNetworkOptions {
  readonly node: NodeOptions;
  /** The network to continue; null for a new one. */
  readonly savedNetwork: SavedNetwork | null;
  /** Reads the project again. @param files receives the paths of its files @throws OperatorError */
  readAgain(files: string[]): Promise<ClarinetProject>;
}

/** Log events of the watch on a project's files. */
export type ContractsEvent =
  /** The contracts of the project are deployed again, because the `changed` ones are new or different. */
  | { event: 'deployment_started'; changed: readonly string[] }
  /** `mined` transactions were mined again after the contracts; `dropped` transactions could not be. */
  | { event: 'contracts_deployed'; contracts: readonly string[]; mined: number; dropped: number }
  /** The project has an error. The chain is unchanged. */
  | { event: 'contracts_refused'; problem: string; remedy: string };

function toDeployment(project: ClarinetProject, contract: ProjectContract): Deployment {
  const { accounts } = project;
  const { name, source, clarityVersion, deployer } = contract;
  const payload = deploymentPayload(name, source, clarityVersion);
  const account = accounts.find(({ address }) => address === deployer);
  if (account !== undefined) return { account, payload, network: networks.testnet, isSigned: true };
  // Requirements keep their address, also of another network. Nobody here has its key.
  const network = deployer.startsWith('SP') || deployer.startsWith('SM') ? networks.mainnet : networks.testnet;
  const owner = impersonate(deployer, network);
  if (owner === null) throw contractError(project, contract, 'its deployer has more than one signature');
  return { account: owner, payload, network, isSigned: false };
}

/** Returns the error for a contract that isn't deployed. @param place in its source, as `:line:column` */
function contractError(
  { accounts }: ClarinetProject,
  { name, deployer, path }: ProjectContract,
  reason: string,
  place = '',
  cause?: unknown,
): OperatorError {
  const isOurs = accounts.some(({ address }) => address === deployer);
  const remedy = isOurs
    ? `Correct the contract ${name}, which can't be deployed.`
    : `The project requires ${deployer}.${name}, which can't be deployed. Compare the file with the original contract.`;
  return new OperatorError(`${path}${place}: ${reason}`, remedy, { cause });
}

/** A mnemonic for accounts that have only a private key. */
const ANY_MNEMONIC = 'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about';

/** Micro-STX for the fees of a requirement's deployer. */
const DEPLOYER_FUNDS = 1_000_000_000n;

/** Paths of the files that exist only in a message to the engine. */
const VIRTUAL_MANIFEST = '/project/Clarinet.toml';
const virtualPath = (index: number): string => `/project/contracts/${index}.clar`;

/** Returns the files of a project with these contracts, by path. The engine reports places of mistakes only for files. */
function filesWith({ accounts }: ClarinetProject, contracts: readonly ProjectContract[]) {
  const files: Record<string, string> = {};
  const requirements = ['[project]', 'name = "checked"'];
  const lines: string[] = [];
  for (const [index, { name, source, clarityVersion, deployer }] of contracts.entries()) {
    const account = accounts.find(({ address }) => address === deployer);
    if (account === undefined) {
      const id = `${deployer}.${name}`;
      files[`/project/.cache/requirements/${id}.clar`] = source;
      files[`/project/.cache/requirements/${id}.json`] = metadataOf(`Clarity${clarityVersion}`);
      requirements.push('[[project.requirements]]', `contract_id = "${id}"`);
      continue;
    }
    files[virtualPath(index)] = source;
    lines.push(`[contracts.${name}]`, `path = "contracts/${index}.clar"`, `epoch = "${EPOCH}"`);
    if (clarityVersion !== null) lines.push(`clarity_version = ${clarityVersion}`);
    lines.push(`deployer = "${account.name}"`);
  }
  files[VIRTUAL_MANIFEST] = [...requirements, ...lines].join('\n');
  const settings = accounts.map(({ name, secret }) => {
    const mnemonic = secret.includes(' ') ? secret : ANY_MNEMONIC;
    return `[accounts.${name}]\nmnemonic = "${mnemonic}"\nbalance = 1\n`;
  });
  files['/project/settings/Devnet.toml'] = `[network]\nname = "devnet"\n${settings.join('')}`;
  return files;
}

/**
 * Returns the error for a contract that can't be deployed, with the place of its mistake if the engine finds it.
 * @param error of the deployment
 * @param parent id of the block below the deployment; null if it isn't in the chain
 */
async function findContractError(
  clarity: ClarityMiner,
  project: ClarinetProject,
  contract: ProjectContract,
  error: string,
  parent: string | null,
): Promise<OperatorError> {
  const index = project.contracts.indexOf(contract);
  const files = filesWith(project, project.contracts.slice(0, index + 1));
  const mistake = await clarity.findMistake(files, VIRTUAL_MANIFEST, virtualPath(index));
  if (mistake !== null) return contractError(project, contract, mistake.error, `:${mistake.line}:${mistake.column}`);
  const deployment = { ...contract, kind: 'deploy', sender: contract.deployer } as const;
  const form = parent === null ? null : await clarity.failingForm(parent, deployment, error);
  return contractError(project, contract, error, form === null ? '' : `:${form.line}:${form.column}`);
}

/**
 * Deploys a contract in a separate block. @param ids receives the id of the transaction
 * @throws OperatorError if it isn't deployed
 */
async function deploy(
  node: SimulatedNode,
  project: ClarinetProject,
  contract: ProjectContract,
  ids: Set<string>,
): Promise<void> {
  try {
    const { id, block } = await node.deploy(toDeployment(project, contract));
    ids.add(id);
    const receipt = block.receipts.find(({ txId }) => txId === id);
    if (receipt?.status === 'success') return;
    const error = receipt?.vmError ?? 'it was not mined';
    throw await findContractError(node.clarity!, project, contract, error, block.parent);
  } catch (error) {
    if (error instanceof RefusedDeployment) throw contractError(project, contract, error.message, '', error);
    throw error;
  }
}

/**
 * Returns the start of a chain that has this machine's time once the contracts are deployed, in Unix seconds. Block 1 comes
 * after a Bitcoin block, and then each contract has a block.
 */
const startTime = (clock: Clock, { contracts }: ClarinetProject): number =>
  Math.floor(clock.now() / 1000) - BITCOIN_SECONDS - BLOCK_SECONDS * (contracts.length + 1);

/** The start of a network, and what is on its chain. */
interface NetworkStart {
  /** Micro-STX of block 0, by address. */
  readonly funds: ReadonlyMap<string, bigint>;
  /** Unix seconds of block 0. */
  readonly time: number;
  readonly contracts: readonly ProjectContract[];
  /** Ids of the deployments of the contracts; empty if they aren't deployed yet. */
  readonly deployments: ReadonlySet<string>;
}

/** Starts a network with the funds of the project's accounts, the requirements' deployers and the faucet. */
function newStart(project: ClarinetProject, { seed, clock, isInRealTime = false }: NodeOptions): NetworkStart {
  const { accounts, contracts } = project;
  const deployers = contracts.map(({ deployer }) => [deployer, DEPLOYER_FUNDS] as const);
  const balances = accounts.map(({ address, balance }) => [address, balance] as const);
  return {
    funds: new Map([...deployers, ...balances, [faucetOf(seed, networks.testnet).address, FAUCET_FUNDS]]),
    time: isInRealTime ? startTime(clock, project) : DEFAULT_START,
    contracts,
    deployments: new Set(),
  };
}

/** Continues a saved network. Its contracts get their present paths in the project. */
const savedStart = (
  { funds, start: time, contracts, deployments }: SavedNetwork,
  project: ClarinetProject,
): NetworkStart => ({
  funds: new Map(Object.entries(funds).map(([address, amount]) => [address, BigInt(amount)])),
  time,
  contracts: contracts.map(({ name, deployer, clarity_version: clarityVersion, source }) => {
    const match = project.contracts.find((contract) => contract.name === name && contract.deployer === deployer);
    return { name, deployer, clarityVersion, source, path: match?.path ?? name };
  }),
  deployments: new Set(deployments),
});

const deployedEvent = (contracts: readonly ProjectContract[], mined = 0, dropped = 0): ContractsEvent => ({
  event: 'contracts_deployed',
  contracts: contracts.map(({ name }) => name),
  mined,
  dropped,
});

/** The network of a project. */
export class RealNetwork {
  readonly node: SimulatedNode;
  readonly #start: NetworkStart;
  #contracts: readonly ProjectContract[];
  #ids: Set<string>;

  private constructor(
    readonly project: ClarinetProject,
    readonly miner: ClarityMiner,
    readonly options: RealNetworkOptions,
    start: NetworkStart,
  ) {
    const { node, savedNetwork } = options;
    const { accounts } = project;
    const engineOptions = { clarity: miner, accounts, history: 1, traffic: 0, pox5Height: null };
    this.node = new SimulatedNode({ ...node, ...engineOptions, saved: savedNetwork?.chain });
    this.#start = start;
    this.#contracts = start.contracts;
    this.#ids = new Set(start.deployments);
  }

  /** Makes the network of a project. @throws OperatorError if the engine can't be loaded */
  static async open(
    project: ClarinetProject,
    engine: ClarityEngine,
    options: RealNetworkOptions,
  ): Promise<RealNetwork> {
    const { node, savedNetwork } = options;
    const start = savedNetwork === null ? newStart(project, node) : savedStart(savedNetwork, project);
    const funds = [...start.funds].map(([address, amount]) => ({ address, amount }));
    return new RealNetwork(project, await ClarityMiner.begin(engine, funds, start.time), options, start);
  }

  get contracts(): readonly ProjectContract[] {
    return this.#contracts;
  }

  /**
   * Deploys the project's contracts, after the node has started. A continued network has them already, and deploys them
   * again only if they changed.
   * @throws OperatorError
   */
  async deployAll(): Promise<ContractsEvent> {
    if (this.options.savedNetwork !== null) return (await this.update([])) ?? deployedEvent(this.#contracts);
    for (const contract of this.#contracts) await deploy(this.node, this.project, contract, this.#ids);
    return deployedEvent(this.#contracts);
  }

  /**
   * Reads the project again, and deploys its contracts again if they changed.
   * @param files receives the paths of the project's files
   * @param started called if the contracts changed, before they are deployed
   * @returns the result; null if nothing changed
   * @throws OperatorError if the project has an error; the chain is then unchanged
   */
  async update(files: string[], started: (event: ContractsEvent) => void = () => {}): Promise<ContractsEvent | null> {
    const latest = await this.options.readAgain(files);
    this.#requireFunded(latest);
    if (Bun.deepEquals(latest.contracts, this.#contracts)) return null;
    const isNew = (contract: ProjectContract) => !this.#contracts.some((former) => Bun.deepEquals(former, contract));
    started({ event: 'deployment_started', changed: latest.contracts.filter(isNew).map(({ name }) => name) });
    return this.#redeploy(latest);
  }

  /** Requires that block 0 has the accounts of the project, and funds for its deployers. @throws OperatorError */
  #requireFunded({ accounts, contracts, directory }: ClarinetProject): void {
    if (!Bun.deepEquals(accounts, this.project.accounts)) {
      throw new OperatorError(
        `The accounts of ${directory} changed after the chain started.`,
        'Restart the devnet to use them.',
      );
    }
    const unfunded = contracts.find(({ deployer }) => !this.#start.funds.has(deployer));
    if (unfunded === undefined) return;
    throw new OperatorError(
      `The project now requires ${unfunded.deployer}.${unfunded.name}, but its deployer has no STX on this chain for the fee.`,
      'Restart the devnet without the file of --state, if you use one.',
    );
  }

  async #redeploy(latest: ClarinetProject): Promise<ContractsEvent> {
    const { contracts, directory } = latest;
    try {
      const deployments = contracts.map((contract) => toDeployment(latest, contract));
      const { ids, mined, dropped } = await this.node.redeploy(deployments, this.#ids, this.miner);
      this.#contracts = contracts;
      this.#ids = new Set(ids);
      return deployedEvent(contracts, mined, dropped);
    } catch (error) {
      if (error instanceof RefusedDeployment) {
        throw await findContractError(this.miner, latest, contracts[error.index]!, error.message, null);
      }
      if (!(error instanceof EngineEndedError)) throw error;
      throw new OperatorError(
        `The contracts of ${directory} can't be deployed: ${error.message}`,
        'Look for a contract that takes more than a minute to deploy.',
        { cause: error },
      );
    }
  }

  saved(): Omit<SavedNetwork, 'format'> {
    const { funds, time } = this.#start;
    return {
      seed: this.options.node.seed,
      start: time,
      funds: Object.fromEntries([...funds].map(([address, amount]) => [address, String(amount)])),
      contracts: this.#contracts.map(({ name, deployer, clarityVersion, source }) => ({
        name,
        deployer,
        clarity_version: clarityVersion,
        source,
      })),
      deployments: [...this.#ids],
      chain: this.node.savedChain(),
    };
  }
}
