/** Runs the console's sample receivers: each accepts signed deliveries, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, receivers } from '../../src/console/app/chain/receivers.ts';
import { newSecret, signatureHeader, signingSecret } from '../../src/hooks/delivery/signature.ts';

const secret = newSecret();
const env = { ...Bun.env, STACKSIDE_SIGNING_SECRET: signingSecret(secret), PORT: '0' };
/** Ten minutes beyond the tolerance, in milliseconds. */
const OVER = 900_000;

let directory = '';
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'receivers-'));
  for (const { file, source } of Object.values(receivers)) await Bun.write(join(directory, file), source);
});
afterAll(() => rmSync(directory, { recursive: true }));

interface Running extends AsyncDisposable {
  url: string;
  /** The next line that the receiver prints. */
  line(): Promise<string>;
}

/** Starts a receiver on a free port. */
async function running(command: readonly string[]): Promise<Running> {
  const process = Bun.spawn([...command], { cwd: directory, env, stdout: 'pipe', stderr: 'ignore' });
  const chunks = process.stdout.pipeThrough(new TextDecoderStream() as never) as unknown as AsyncIterable<string>;
  const lines = (async function* () {
    let rest = '';
    for await (const chunk of chunks) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      yield* parts;
    }
  })();
  const line = async () => (await lines.next()).value ?? '';
  const port = Number(/^listening on port (\d+)$/.exec(await line())?.[1]);
  return {
    url: `http://127.0.0.1:${port}/`,
    line,
    async [Symbol.asyncDispose]() {
      process.kill();
      await process.exited;
    },
  };
}

const block = (index: number, transactions: number) => ({
  block_identifier: { index, hash: `0x${index}` },
  transactions: Array.from({ length: transactions }, (_, i) => ({
    transaction_identifier: { hash: `0x${index}${i}` },
  })),
});
const bodyOf = (rollback: object[], apply: object[], uuid = '1') =>
  JSON.stringify({
    chainhook: { uuid, name: 'caf\u00e9 \u20bf' },
    event: { chain: 'stacks', network: 'testnet', rollback, apply },
  });
const BODY = bodyOf([], [block(7, 1)]);
const FORK = bodyOf([block(7, 1)], [block(8, 2)]);

interface Sent {
  id: string;
  body?: string;
  /** The text that is signed, if it isn't the body. */
  signedBody?: string;
  reason?: string;
  /** Milliseconds since the signature. */
  age?: number;
  signature?: (signed: string) => string;
}

/** The status of a receiver's answer to a delivery. */
async function send(url: string, { id, body = BODY, age = 0, ...sent }: Sent): Promise<number> {
  const { signedBody = body, reason = 'live', signature = (signed: string) => signed } = sent;
  const time = Date.now() - age;
  const secrets = { secret, previous: null, rotatedAt: 0 };
  const signed = signatureHeader(secrets, id, Buffer.from(signedBody), time)['webhook-signature'] ?? '';
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(time / 1000)),
    'webhook-signature': signature(signed),
    'x-chainhook-reason': reason,
  };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

/** The program that each language needs, or null if it is missing. */
const COMMANDS: Readonly<Record<Exclude<Language, 'curl'>, readonly string[] | null>> = {
  typescript: [process.execPath, 'receiver.ts'],
  python: Bun.which('python3') === null ? null : ['python3', 'receiver.py'],
  go: Bun.which('go') === null ? null : ['sh', '-c', 'go build -o receiver receiver.go && exec ./receiver'],
};

for (const [language, command] of Object.entries(COMMANDS)) {
  if (command === null) process.stderr.write(`${language} was not found: the test of its receiver is skipped.\n`);
  test.skipIf(command === null)(
    `the receiver in ${language} handles each transaction once, ignores tests, and rejects other requests`,
    async () => {
      await using receiver = await running(command ?? []);
      const { url } = receiver;
      const accepted = [200, 204];
      const deliveries: [sent: Sent, lines: string[]][] = [
        [{ id: 'a' }, ['block 7: 1 transactions']],
        [{ id: 'a' }, []],
        // A backfill sends the block again, and another chainhook has its own.
        [{ id: 'b', reason: 'backfill' }, []],
        [{ id: 'c', body: bodyOf([], [block(7, 1)], '2') }, ['block 7: 1 transactions']],
        [{ id: 'd', reason: 'test', body: bodyOf([], [block(6, 1)]) }, ['test']],
        [
          { id: 'e', body: FORK, signature: (signed) => `v1,b2xk ${signed}` },
          ['undo block 7: 1 transactions', 'block 8: 2 transactions'],
        ],
        // The block is gone already. Then it joins the chain again.
        [{ id: 'f', body: FORK }, []],
        [{ id: 'a' }, []],
        [
          { id: 'g', body: bodyOf([block(8, 2)], [block(7, 1)]) },
          ['undo block 8: 2 transactions', 'block 7: 1 transactions'],
        ],
        // With other filters, a backfill sends more transactions of the block.
        [{ id: 'h', reason: 'backfill', body: bodyOf([], [block(7, 3)]) }, ['block 7: 2 transactions']],
      ];
      for (const [delivery, expected] of deliveries) {
        expect(accepted).toContain(await send(url, delivery));
        const lines = [];
        for (const _ of expected) lines.push(await receiver.line());
        expect(lines).toEqual(expected);
      }
      const refused: Sent[] = [
        { id: 'i', body: BODY.replace('"index":7', '"index":9'), signedBody: BODY },
        { id: 'i', age: OVER },
        { id: 'i', age: -OVER },
        { id: 'i', signature: () => '' },
        { id: 'h', signature: (signed) => signed.replace('v1,', 'v2,') },
        { id: 'h', signature: (signed) => signed.slice(0, -4) },
      ];
      for (const delivery of refused) expect([delivery, await send(url, delivery)]).toEqual([delivery, 401]);
    },
  );
}

const hasCurl = Bun.which('curl') !== null && Bun.which('openssl') !== null;
if (!hasCurl) process.stderr.write('curl or openssl was not found: the test of the script with curl is skipped.\n');
test.skipIf(!hasCurl)(
  'the curl script sends a delivery that a receiver accepts, or rejects with another secret',
  async () => {
    await using receiver = await running(COMMANDS.typescript ?? []);
    const answer = async (signingKey: Uint8Array) => {
      const script = Bun.spawn(['sh', 'send.sh', receiver.url], {
        cwd: directory,
        env: { ...env, STACKSIDE_SIGNING_SECRET: signingSecret(signingKey) },
      });
      return (await new Response(script.stdout).text()).split('\r\n')[0];
    };
    expect(await answer(secret)).toBe('HTTP/1.1 200 OK');
    expect(await answer(newSecret())).toBe('HTTP/1.1 401 Unauthorized');
  },
);
