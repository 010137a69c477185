/** The limits of the faucets, measured with the test's own clock. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { type Faucets, openFaucets } from '../../src/faucets/faucets.ts';
import { nodeRpc } from '../../src/node/rpc.ts';
import { openWriter } from '../../src/store/files/database.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import { faucetRequests } from '../../src/store/ingest/faucet-requests.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openNew } from '../support/data/ingest.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

const ADDRESS = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
const KEY = 'f9d7206a47f14d2870c163ebab4bf3e70d18f5d14ce1031f3902fbbc894fe4c701';
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** Requests that a test sends, and counts that it checks. */
interface Around {
  /** Requests STX after this number of milliseconds. @returns the error, or null if the faucet paid */
  ask: (after: number, stacking: boolean) => Promise<string | null>;
  /** Makes commands fail from now on, as if the shared log were down. */
  goAway: () => void;
  /** Returns the number of payouts. */
  sent: () => number;
}

async function withFaucets(test: (around: Around) => Promise<void>): Promise<void> {
  using node = standInNode();
  let sent = 0;
  let isAway = false;
  node.answer('/v2/transactions', () => {
    sent += 1;
    return Response.json('ab'.repeat(32));
  });
  using open = openNew();
  let time = Date.UTC(2026, 0, 1);
  const commander = open.ingest.commander({ ...systemClock, now: () => time });
  const faucets: Faucets = openFaucets({
    settings: { sbtc: false, keys: [KEY], sbtcAsset: '', bitcoin: null, limited: true },
    onTestNetwork: () => true,
    requests: open.ingest.faucetRequests,
    commands: commandsOf({
      ...commander,
      // A command that changes nothing needs no journal.
      run: (command) =>
        isAway && command.type !== 'faucet.forget' ? Promise.reject(new Error('away')) : commander.run(command),
    }),
    node: nodeRpc(node.url),
    nextNonce: () => 0n,
    now: () => time,
    log: () => {},
  });
  await test({
    async ask(after, stacking) {
      time += after;
      try {
        await faucets.stx().send(ADDRESS, stacking, '127.0.0.1');
        return null;
      } catch (error) {
        return String(error);
      }
    },
    goAway() {
      isAway = true;
    },
    sent: () => sent,
  });
}

const TOO_MANY = 'FaucetError: Too many requests';

test('a stacking amount is sent once in two days, even if other requests follow', () =>
  withFaucets(async ({ ask }) => {
    expect(await ask(0, true)).toBeNull();
    expect(await ask(5 * MINUTE + SECOND, true)).toBe(TOO_MANY);
    expect(await ask(SECOND, false)).toBeNull();
    expect(await ask(DAY, false)).toBeNull();
    expect(await ask(DAY - 5 * MINUTE - 3 * SECOND, true)).toBe(TOO_MANY);
    expect(await ask(2 * DAY, true)).toBeNull();
  }));

test('five requests are granted in five minutes', () =>
  withFaucets(async ({ ask }) => {
    for (let n = 0; n < 5; n++) expect(await ask(SECOND, false)).toBeNull();
    expect(await ask(SECOND, false)).toBe(TOO_MANY);
    expect(await ask(5 * MINUTE - 5 * SECOND - 1, false)).toBe(TOO_MANY);
    expect(await ask(1, false)).toBeNull();
    expect(await ask(1, false)).toBe(TOO_MANY);
  }));

test("nothing is sent if the request can't be stored", () =>
  withFaucets(async ({ ask, goAway, sent }) => {
    goAway();
    expect(await ask(SECOND, false)).toBe('Error: away');
    expect(sent()).toBe(0);
  }));

test('removing a request removes one with its currency, address and time', () => {
  using directory = dataDirectory();
  using db = openWriter(directory.path);
  const requests = faucetRequests(db);
  for (const time of [5, 5, 6]) requests.add('stx', 'A', time, '192.0.2.1');
  requests.add('btc', 'A', 5, '192.0.2.1');
  requests.add('stx', 'B', 5, '192.0.2.1');
  requests.remove('stx', 'A', 5);
  expect([0, 5, 6].map((time) => requests.count('stx', 'A', time))).toEqual([2, 1, 0]);
  expect([requests.count('btc', 'A', 0), requests.count('stx', 'B', 0)]).toEqual([1, 1]);
  requests.forgetBefore(6);
  expect([requests.count('stx', 'A', 0), requests.count('btc', 'A', 0)]).toEqual([1, 0]);
});
