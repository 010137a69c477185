/**
 * Hostile clients. A line of input names the listener to attack, or ordinary requests as a control; an empty line ends the
 * attack. Prints `ready` at the start, and the number of messages after each attack.
 */
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import { attack, type Target } from '../../test/faults/hostile/attack.ts';
import { routesOf, Subjects } from '../../test/support/api/random-urls.ts';
import { ORDINARY, ordinaryRequests } from './ordinary-requests.ts';

const [api, events, data, seed, blocks, transactions] = process.argv.slice(2);
/** Messages to send before it checks whether the attack is over. */
const AT_ONCE = 300;

const stream = [
  ...devnetEvents({ seed: Number(seed), blocks: Number(blocks), transactionsPerBlock: Number(transactions) }),
];
const subjects = new Subjects();
for (const event of stream) subjects.add(event);
const routes = routesOf(await (await fetch(`${api}/docs/json`)).json());
const key = readAdminKey(data!) ?? '';
const target: Target = { api: api!, events: events!, key, routes, subjects, stream };

let attacked = '';
let turn = 0;
async function attackUntilStopped(name: string): Promise<void> {
  let messages = 0;
  while (attacked === name) {
    if (name === ORDINARY) await ordinaryRequests(target.api, AT_ONCE);
    else await attack(name, target, AT_ONCE, String(turn++));
    messages += AT_ONCE;
  }
  process.stdout.write(`${messages}\n`);
}

process.stdout.write('ready\n');
for await (const line of console) {
  attacked = line;
  if (line !== '') void attackUntilStopped(line);
}
process.exit(0);
