/** A network whose contracts run for real: a Clarinet project's accounts and contracts, and a node that mines for them. */
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { DEFAULT_START, FAUCET_FUNDS, faucetOf } from '../chain.ts';
import { networks } from '../network.ts';
import { RefusedTransaction, SimulatedNode } from '../node.ts';
import { smartContract, versionedSmartContract } from '../transaction.ts';
import type { ClarityEngine } from './engine.ts';
import { ClarityMiner } from './miner.ts';
import { type ClarinetProject, clarinetProject, type ProjectContract } from './project.ts';

export interface RealNetworkOptions {
  /** Directory of the project. */
  clarity: string | null;
  seed: number;
  interval: number;
  automine: boolean;
  unsafeImpersonate: boolean;
}

/** Deploys a contract in a block of its own. @throws OperatorError where it isn't deployed */
async function deploy(node: SimulatedNode, project: ClarinetProject, contract: ProjectContract): Promise<void> {
  const { name, source, clarityVersion, deployer } = contract;
  const account = project.accounts.find(({ address }) => address === deployer)!;
  const payload =
    clarityVersion === null ? smartContract(name, source) : versionedSmartContract(clarityVersion, name, source);
  const refused = (why: string, cause?: unknown): OperatorError =>
    new OperatorError(
      `The contract ${name} of ${project.directory} can't be deployed: ${why}`,
      'Correct the contract; clarinet check says where the mistake is.',
      { cause },
    );
  try {
    const { id, block } = await node.send(account, payload);
    const receipt = block.receipts.find(({ txId }) => txId === id);
    if (receipt?.status !== 'success') throw refused(receipt?.vmError ?? 'it was not mined');
  } catch (error) {
    if (error instanceof RefusedTransaction) throw refused(error.message, error);
    throw error;
  }
}

/**
 * Makes the network of a project.
 * @returns the node, the project, and what deploys its contracts once the node has started
 * @throws OperatorError where the project or the engine can't be loaded
 */
export async function realNetwork(
  { clarity, seed, interval, automine, unsafeImpersonate: impersonates }: RealNetworkOptions,
  engine: ClarityEngine,
  clock: Clock,
): Promise<{ node: SimulatedNode; project: ClarinetProject; begun: () => Promise<void> }> {
  const project = clarinetProject(clarity ?? '.', seed);
  const funds = [
    ...project.accounts.map(({ address, balance: amount }) => ({ address, amount })),
    { address: faucetOf(seed, networks.testnet).address, amount: FAUCET_FUNDS },
  ];
  const miner = await ClarityMiner.begin(
    engine,
    funds,
    interval === 0 ? DEFAULT_START : Math.floor(clock.now() / 1000),
  );
  const node = new SimulatedNode({
    ...{ seed, interval, automine, impersonates, clock, clarity: miner, accounts: project.accounts },
    ...{ history: 1, traffic: 0, pox5Height: null },
  });
  const begun = async (): Promise<void> => {
    for (const contract of project.contracts) await deploy(node, project, contract);
  };
  return { node, project, begun };
}
