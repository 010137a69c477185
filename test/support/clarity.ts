/**
 * Projects for the Clarity engine. Its licence is GPL-3.0, so this project doesn't depend on it: tests use the engine in
 * the directory of STACKSIDE_TEST_CLARITY, where .ci/run installs it.
 */
import { existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  ClarityEngine,
  type EngineAnswer,
  EngineEndedError,
  type EngineRequest,
} from '../../src/devnet/clarity/engine.ts';
import { type DataDirectory, dataDirectory } from './data/data-directory.ts';

const installed = join(process.env.STACKSIDE_TEST_CLARITY ?? '', 'node_modules');

/** Whether an engine is installed. */
export const hasClarity = existsSync(join(installed, '@stacks/clarinet-sdk'));

/** Mnemonics that Clarinet's own template names, and their addresses. */
export const DEPLOYER = {
  mnemonic:
    'twice kind fence tip hidden tilt action fragile skin nothing glory cousin green tomorrow spring wrist shed math olympic multiply hip blue scout claw',
  address: 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM',
  key: '753b7cc01a1a2e86221266a154af739463fce51219d97e4f856cd7200c3bd2a601',
};
export const WALLET = {
  mnemonic:
    'sell invite acquire kitten bamboo drastic jelly vivid peace spawn twice guilt pave pen trash pretty park cube fragile unaware remain midnight betray rebuild',
  address: 'ST1SJ3DTE5DN7X54YDH5D64R3BCB6A2AG2ZQ8YPD5',
  key: '7287ba251d44a4d3fd9276c88ce34c5c52a038955511cccaf77e61068649c17801',
};

const DEVNET = `[network]
name = "devnet"

[accounts.deployer]
mnemonic = "${DEPLOYER.mnemonic}"
balance = 100_000_000_000_000

[accounts.wallet_1]
mnemonic = "${WALLET.mnemonic}"
balance = 100_000_000_000_000
`;

/** Installs the engine in a directory. */
export function linkClarity(directory: string): void {
  mkdirSync(join(directory, 'node_modules/@stacks'), { recursive: true });
  symlinkSync(join(installed, '@stacks/clarinet-sdk'), join(directory, 'node_modules/@stacks/clarinet-sdk'));
}

/** A Clarinet project with an engine. @param contracts sources by name @param manifest more text of Clarinet.toml */
export async function clarityProject(contracts: Record<string, string>, manifest = ''): Promise<DataDirectory> {
  const directory = dataDirectory();
  const { path } = directory;
  for (const folder of ['contracts', 'settings']) mkdirSync(join(path, folder));
  linkClarity(path);
  const listed = Object.keys(contracts).map(
    (name) => `[contracts.${name}]\npath = "contracts/${name}.clar"\nclarity_version = 3\n`,
  );
  await Bun.write(join(path, 'Clarinet.toml'), `[project]\nname = "shop"\n${manifest}\n${listed.join('\n')}`);
  await Bun.write(join(path, 'settings/Devnet.toml'), DEVNET);
  for (const [name, source] of Object.entries(contracts)) await Bun.write(join(path, `contracts/${name}.clar`), source);
  return directory;
}

/** Engines that a devnet has left and another may use. */
const idle = new Set<ClarityEngine>();

/**
 * An engine whose process outlives its devnet, for the next devnet of the same file. A process takes over a second to start
 * its first chain, and less than a tenth to start the same chain again.
 */
class LentEngine extends ClarityEngine {
  #engine: ClarityEngine | null = null;
  /** Calls without an answer. */
  #calls = 0;
  #isStopped = false;

  override get isRunning(): boolean {
    return this.#engine?.isRunning === true;
  }

  override start(): Promise<string> {
    const [engine] = idle;
    idle.delete(engine!);
    this.#engine = engine?.isRunning === true ? engine : new ClarityEngine(this.options);
    return this.#counted(this.#engine.isRunning ? Promise.resolve('') : this.#engine.start());
  }

  override async ask<K extends EngineRequest['kind']>(message: EngineRequest<K>): Promise<EngineAnswer<K>> {
    if (this.#isStopped) throw new EngineEndedError('The Clarity engine was stopped.');
    if (!this.isRunning) await this.start();
    return this.#counted(this.#engine!.ask(message));
  }

  async #counted<T>(call: Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      return await call;
    } finally {
      this.#calls -= 1;
    }
  }

  override async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.isRunning && this.#calls === 0) idle.add(this.#engine!);
    else await this.#engine?.stop();
  }
}

/** Makes the engine of a devnet. Stand-ins, and directories without an engine, get their own. */
export function lentEngine(...given: ConstructorParameters<typeof ClarityEngine>): ClarityEngine {
  const linked = join(given[0].directory, 'node_modules/@stacks/clarinet-sdk');
  const isInstalled =
    hasClarity && existsSync(linked) && realpathSync(linked) === realpathSync(join(installed, '@stacks/clarinet-sdk'));
  return isInstalled ? new LentEngine(...given) : new ClarityEngine(...given);
}

/** Stops the engines that no devnet uses. Call it after the tests of a file, when its devnets have stopped. */
export async function stopEngines(): Promise<void> {
  await Promise.all([...idle].map((engine) => engine.stop()));
  idle.clear();
}
