/** Logins that PostgreSQL refuses: it uses one SQLSTATE for a wrong password and for a login server that it can't reach. */
import { expect, test } from 'bun:test';
import { openPostgresLog } from '../../../src/cluster/postgres-log.ts';

/** Starts a server that answers each login with an error. */
function refusingServer(state: string, message: string, received: string[] = []) {
  const fields = ['SFATAL', 'VFATAL', `C${state}`, `M${message}`].map((text) => `${text}\0`).join('');
  const body = Buffer.from(`${fields}\0`);
  const head = Buffer.alloc(5);
  head.write('E', 0);
  head.writeInt32BE(body.length + 4, 1);
  const answer = Buffer.concat([head, body]);
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, data) {
        received.push(data.toString());
        socket.end(answer);
      },
    },
  });
  return { port: listener.port, [Symbol.dispose]: () => listener.stop(true) };
}

test.each([
  ['28000', 'LDAP authentication failed for user "stacks"', 'Check the user'],
  ['28000', 'PAM authentication failed for user "stacks"', 'Check the user'],
  ['28P01', 'password authentication failed for user "stacks"', 'Check the user'],
  ['3D000', 'database "stacks" does not exist', 'Create the database'],
])('%s (%s) ends a host with the code for temporary errors', async (state, message, remedy) => {
  using server = refusingServer(state, message);
  const url = `postgres://stacks:pw@127.0.0.1:${server.port}/stacks?sslmode=disable`;
  await expect(openPostgresLog(url)).rejects.toMatchObject({
    exitCode: 75,
    message: expect.stringContaining(`${message} (${state})`),
    remedy: expect.stringContaining(remedy),
  });
});

test("a server that doesn't know the check of clients gets a session without it", async () => {
  const received: string[] = [];
  using server = refusingServer('42704', 'unrecognized configuration parameter', received);
  const log = await openPostgresLog(`postgres://stacks@127.0.0.1:${server.port}/stacks?sslmode=disable`);
  await log.close();
  const isChecked = received.map((text) => text.includes('client_connection_check_interval'));
  expect([isChecked[0], isChecked.at(-1)]).toEqual([true, false]);
  expect(received.every((text) => text.includes('synchronous_commit'))).toBe(true);
});
