/** A network that executes contracts: a Clarinet project's accounts and contracts, and a node that mines for them. */
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { DEFAULT_START, FAUCET_FUNDS, faucetOf } from '../chain.ts';
import { networks } from '../network.ts';
import { type Deployment, RefusedDeployment, RefusedTransaction, SimulatedNode } from '../node.ts';
import type { ObserverOptions } from '../observer.ts';
import { smartContract, versionedSmartContract } from '../transaction.ts';
import { type ClarityEngine, EngineEndedError } from './engine.ts';
import { BITCOIN_SECONDS, BLOCK_SECONDS, ClarityMiner } from './miner.ts';
import { type ClarinetProject, clarinetProject, type ProjectContract } from './project.ts';

interface RealNetworkOptions {
  /** Directory of the project. */
  clarity: string | null;
  seed: number;
  interval: number;
  isInRealTime: boolean;
  automine: boolean;
  unsafeImpersonate: boolean;
  /** A second observer of the node. */
  otherObserver?: ObserverOptions;
}

/** A network that executes contracts. */
export interface RealNetwork {
  readonly node: SimulatedNode;
  readonly project: ClarinetProject;
  /** Deploys the project's contracts, after the node has started. @throws OperatorError */
  begun(): Promise<void>;
  /**
   * Reads the project again, and deploys its contracts again if they changed.
   * @param files receives the paths of the project's files
   * @returns the result; null if nothing changed
   * @throws OperatorError if the project has an error; the chain is then unchanged
   */
  changed(files: string[]): Promise<ContractsEvent | null>;
}

/** Log events of the watch on a project's files. */
export type ContractsEvent =
  /** `mined` transactions were mined again after the contracts; `dropped` transactions could not be. */
  | { event: 'contracts_deployed'; contracts: readonly string[]; mined: number; dropped: number }
  /** The project has an error. The chain is unchanged. */
  | { event: 'contracts_refused'; problem: string; remedy: string };

/** Returns the transaction that deploys a contract. */
function deploymentOf({ accounts }: ClarinetProject, contract: ProjectContract): Deployment {
  const { name, source, clarityVersion, deployer } = contract;
  const account = accounts.find(({ address }) => address === deployer)!;
  const payload =
    clarityVersion === null ? smartContract(name, source) : versionedSmartContract(clarityVersion, name, source);
  return { account, payload };
}

/** Returns the error for a contract that isn't deployed. */
const refusedContract = ({ directory }: ClarinetProject, { name }: ProjectContract, why: string, cause?: unknown) =>
  new OperatorError(
    `The contract ${name} of ${directory} can't be deployed: ${why}`,
    'Correct the contract. clarinet check shows the line of the error.',
    { cause },
  );

/**
 * Deploys a contract in a separate block. @returns the id of the transaction @throws OperatorError if it isn't deployed
 */
async function deploy(node: SimulatedNode, project: ClarinetProject, contract: ProjectContract): Promise<string> {
  const { account, payload } = deploymentOf(project, contract);
  try {
    const { id, block } = await node.send(account, payload);
    const receipt = block.receipts.find(({ txId }) => txId === id);
    if (receipt?.status === 'success') return id;
    const error = receipt?.vmError ?? 'it was not mined';
    const deployed = { ...contract, kind: 'deploy', sender: account.address } as const;
    const line = await node.clarity!.mistakeLine(block.parent!, deployed, error);
    const place = line === null ? '' : `, in the definition that begins on line ${line}`;
    throw refusedContract(project, contract, `${error}${place}`);
  } catch (error) {
    if (error instanceof RefusedTransaction) throw refusedContract(project, contract, error.message, error);
    throw error;
  }
}

/**
 * Returns the start of a chain that has this machine's time once the contracts are deployed, in Unix seconds. Block 1 comes
 * after a Bitcoin block, and then each contract has a block.
 */
const startTime = (clock: Clock, { contracts }: ClarinetProject): number =>
  Math.floor(clock.now() / 1000) - BITCOIN_SECONDS - BLOCK_SECONDS * (contracts.length + 1);

/**
 * Makes the network of a project.
 * @throws OperatorError if the project or the engine can't be loaded
 */
export async function realNetwork(
  {
    clarity,
    seed,
    interval,
    isInRealTime,
    automine,
    unsafeImpersonate: impersonates,
    otherObserver,
  }: RealNetworkOptions,
  engine: ClarityEngine,
  clock: Clock,
): Promise<RealNetwork> {
  const project = clarinetProject(clarity ?? '.', seed);
  const funds = [
    ...project.accounts.map(({ address, balance: amount }) => ({ address, amount })),
    { address: faucetOf(seed, networks.testnet).address, amount: FAUCET_FUNDS },
  ];
  const miner = await ClarityMiner.begin(engine, funds, isInRealTime ? startTime(clock, project) : DEFAULT_START);
  const node = new SimulatedNode({
    ...{ seed, interval, isInRealTime, automine, impersonates, clock, clarity: miner, accounts: project.accounts },
    ...{ history: 1, traffic: 0, pox5Height: null },
    ...(otherObserver === undefined ? {} : { otherObserver }),
  });
  let { contracts } = project;
  let ids = new Set<string>();
  return {
    node,
    project,
    async begun() {
      for (const contract of contracts) ids.add(await deploy(node, project, contract));
    },
    async changed(files) {
      const now = clarinetProject(clarity ?? '.', seed, files);
      if (!Bun.deepEquals(now.accounts, project.accounts)) {
        throw new OperatorError(
          `The accounts of ${now.directory} changed after the chain started.`,
          'Restart the devnet to use them.',
        );
      }
      if (Bun.deepEquals(now.contracts, contracts)) return null;
      try {
        const deployments = now.contracts.map((contract) => deploymentOf(now, contract));
        const made = await node.redeploy(deployments, ids, miner);
        [contracts, ids] = [now.contracts, new Set(made.ids)];
        const { mined, dropped } = made;
        return { event: 'contracts_deployed', contracts: contracts.map(({ name }) => name), mined, dropped };
      } catch (error) {
        if (error instanceof RefusedDeployment) {
          throw refusedContract(now, now.contracts[error.at]!, error.message, error);
        }
        if (error instanceof EngineEndedError) {
          throw new OperatorError(
            `The contracts of ${now.directory} can't be deployed: ${error.message}`,
            'Look for a contract that takes more than a minute to deploy.',
            { cause: error },
          );
        }
        throw error;
      }
    },
  };
}
