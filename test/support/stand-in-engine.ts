/** A stand-in for the Clarity engine, in a directory: the names of its contracts' functions describe their effects. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { type DataDirectory, dataDirectory } from './data/data-directory.ts';

/** The `get-pox-info` answer of its stacking contract. */
const POX_INFO = clarity.ok(
  clarity.tuple({
    'min-amount-ustx': clarity.uint(0),
    'prepare-cycle-length': clarity.uint(50),
    'reward-cycle-length': clarity.uint(1_050),
    'total-liquid-supply-ustx': clarity.uint(0),
  }),
);

/** The module in place of @stacks/clarinet-sdk-wasm: heights as the real one has them, and calls that misbehave by name. */
const MODULE = `
const OK = '0x0703';
class SDK {
  async initSession() {
    [this.stacksBlockHeight, this.burnBlockHeight] = [0, 0];
    this.contracts = new Map();
    this.time = this.bitcoinTime = new Date().getTime() / 1000;
  }
  free() {}
  setEpoch() { this.mineEmptyBurnBlock(); }
  mintSTX() { return ''; }
  getBlockTime() { return BigInt(this.time); }
  mineEmptyBurnBlock() {
    this.bitcoinTime = Math.max(this.bitcoinTime + 600, this.time + 10);
    this.time = this.bitcoinTime + 10;
    this.burnBlockHeight += 1;
    return (this.stacksBlockHeight += 1);
  }
  getContractSource() { return undefined; }
  getContractsInterfaces() { return this.contracts; }
  callReadOnlyFn({ method }) { return { result: method === 'get-pox-info' ? '${toHex(POX_INFO)}' : '0x' + '01'.padEnd(34, '0') }; }
  getDataVar() { throw 'value not found'; }
  getMapEntry() { throw 'value not found'; }
  mineBlock(transactions) {
    this.stacksBlockHeight += 1;
    this.time += 10;
    return transactions.map((one) => {
      const name = one.callPublicFn?.method;
      if (name === 'die') process.exit(3);
      if (name === 'hang') for (;;);
      if (name === 'odd') return { result: OK, events: '["{\\\\"event\\\\":\\\\"new_event\\\\",\\\\"data\\\\":{}}"]', costs: 'null' };
      if (name === 'print') {
        const data = { contract_identifier: one.callPublicFn.contract, topic: 'print', raw_value: '0x0200100000' + 'ab'.repeat(1048576) };
        return { result: OK, events: JSON.stringify([JSON.stringify({ event: 'print_event', data })]), costs: 'null' };
      }
      if (one.deployContract) {
        if (one.deployContract.content.includes('die')) process.exit(3);
        if (one.deployContract.content.includes('hang')) for (;;);
        const { sender, name } = one.deployContract;
        const functions = ['die', 'hang', 'odd', 'print', 'good'].map((f) => ({ name: f, access: 'public', args: [], outputs: { type: { response: { ok: 'bool', error: 'none' } } } }));
        functions.push({ name: 'look', access: 'read_only', args: [], outputs: { type: 'uint128' } });
        this.contracts.set(sender + '.' + name, { functions, variables: [], maps: [], fungible_tokens: [], non_fungible_tokens: [], epoch: 'Epoch34', clarity_version: 'Clarity4' });
      }
      return { result: OK, events: '[]', costs: 'null' };
    });
  }
}
class SDKOptions {}
class CallFnArgs {
  constructor(contract, method, args, sender) {
    if (sender.includes('.')) throw "Invalid sender address '" + sender + "'.";
    this.method = method;
  }
}
module.exports = { SDK, SDKOptions, CallFnArgs };
`;

/** Creates a directory with the stand-in, as a project installs the engine. @param version version in its package.json */
export async function standInEngine(version = '3.21.0'): Promise<DataDirectory> {
  const directory = dataDirectory();
  for (const [name, main] of [
    ['clarinet-sdk', 'module.exports = {};'],
    ['clarinet-sdk-wasm', MODULE],
  ] as const) {
    const folder = join(directory.path, 'node_modules/@stacks', name);
    mkdirSync(folder, { recursive: true });
    await Bun.write(
      join(folder, 'package.json'),
      JSON.stringify({ name: `@stacks/${name}`, version, main: 'main.js' }),
    );
    await Bun.write(join(folder, 'main.js'), main);
  }
  return directory;
}
