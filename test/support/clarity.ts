/**
 * Projects for the Clarity engine. Its licence is GPL-3.0, so this project doesn't depend on it: tests use the engine in
 * the directory of STACKSIDE_TEST_CLARITY, where .ci/run installs it.
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
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
