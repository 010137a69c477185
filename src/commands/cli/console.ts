/** `stackside console`: a link that signs a browser in. */
import { LINKS, LinkResponse } from '../../hooks/routes/session.ts';
import { answerOf, type Connection, callServer } from './client.ts';

/** Prints the link on stdout, and until when it works on stderr. @throws OperatorError where the server refuses */
export async function printSignInLink(connection: Connection): Promise<void> {
  const link = answerOf(LinkResponse, connection, await callServer(connection, 'POST', LINKS));
  process.stdout.write(`${new URL(link.path, connection.url)}\n`);
  if (link.expires_at === null) return;
  const end = new Date(link.expires_at * 1000).toISOString().slice(11, 16);
  process.stderr.write(`The link signs one browser in, once, until ${end} UTC.\n`);
}
