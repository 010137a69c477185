/** A static web server, which has nothing but the files of a directory: no list, and no rights to write. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface WebServer extends Disposable {
  /** The URL of the directory. */
  readonly url: string;
  /** Names of the requested files. */
  readonly requestedNames: string[];
  /** Answers in place of the file of a name; null for the file. */
  answer: (name: string, request: Request) => Response | null | Promise<Response | null>;
}

/** @param tls the certificate and its key, in PEM; http without */
export function webServer(directory: string, tls?: { cert: string; key: string }): WebServer {
  const requestedNames: string[] = [];
  const state: Pick<WebServer, 'answer'> = { answer: () => null };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(tls === undefined ? {} : { tls }),
    async fetch(request) {
      const name = new URL(request.url).pathname.split('/').at(-1) ?? '';
      requestedNames.push(name);
      const override = await state.answer(name, request);
      if (override !== null) return override;
      const path = join(directory, name);
      return name !== '' && existsSync(path)
        ? new Response(readFileSync(path))
        : new Response('not found', { status: 404 });
    },
  });
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${server.port}/stacks`,
    requestedNames,
    get answer() {
      return state.answer;
    },
    set answer(answer) {
      state.answer = answer;
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}
