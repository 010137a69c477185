/** Measures hosts that follow a shared log: how fast an empty one catches up, and the requests that several answer together. */
import { join } from 'node:path';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import { MAIN, ROOT, run, type Server, script, startServer } from '../harness.ts';

const PREFIX = 'hosts_';
/** An expensive request, so that the load generators leave most of the processor to the hosts. */
const PATH = '/extended/v3/transactions';
const WARM_UP_SECONDS = 1;

const clusterFlags = (url: string): string[] => ['--cluster', url, '--cluster-prefix', PREFIX];

/** Fills the log with the journal of a data directory. */
export async function fillFrom(url: string, directory: string): Promise<void> {
  await run(script(MAIN, 'cluster', 'init', '--data', directory, ...clusterFlags(url)));
}

/** Starts a host that follows the log and accepts no events. */
const startHost = (url: string, directory: string): Promise<Server> =>
  startServer(
    script(
      MAIN,
      ...['serve', '--mode', 'read', '--data', directory, '--api-host', '127.0.0.1', '--api-port', '0'],
      ...['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1', ...clusterFlags(url)],
    ),
  );

const lastEntry = (directory: string): number => {
  const journal = openJournalReader(directory);
  const last = journal?.lastId() ?? 0;
  journal?.close();
  return last;
};

export interface CaughtUp {
  seconds: number;
  entries: number;
  transactions: number;
  /** Seconds of the host's processor time. */
  cpu: number;
}

/** Starts a host with an empty directory. @returns the time until it has the whole log */
async function followLog(url: string, directory: string, entries: number): Promise<CaughtUp & { host: Server }> {
  const start = performance.now();
  const host = await startHost(url, directory);
  while (lastEntry(directory) < entries) await Bun.sleep(20);
  const seconds = (performance.now() - start) / 1000;
  return { host, seconds, entries, transactions: directoryStatus(directory).transactions, cpu: host.cpuSeconds() };
}

/** Requests that hosts answered together. */
export interface AnswerRate {
  perSecond: number;
  /** A host's processor time per request, in microseconds. */
  cpu: number;
}

export interface HostRound {
  caughtUp: CaughtUp;
  /** Results of one host, two hosts, and so on. */
  answered: AnswerRate[];
}

/** Sends requests to hosts, with one load generator each. */
async function ask(hosts: readonly Server[], seconds: number): Promise<AnswerRate> {
  const cpuSeconds = () => hosts.reduce((sum, host) => sum + host.cpuSeconds(), 0);
  const before = cpuSeconds();
  const loads = await Promise.all(
    hosts.map(async ({ url }) => {
      const options = [url, '16', String(WARM_UP_SECONDS), String(seconds), 'distinct', PATH];
      const { stdout } = await run(script(join(ROOT, 'bench/parts/load.ts'), ...options));
      return JSON.parse(stdout) as { perSecond: number; answered: number };
    }),
  );
  const requests = loads.reduce((sum, { answered }) => sum + answered, 0);
  return {
    perSecond: loads.reduce((sum, { perSecond }) => sum + perSecond, 0),
    cpu: ((cpuSeconds() - before) / requests) * 1e6,
  };
}

/** Measures hosts. @param source the data directory whose journal fills the log @param scratch for the hosts' directories */
export async function hostRound(
  { url, source, scratch }: { url: string; source: string; scratch: string },
  count: number,
  seconds: number,
): Promise<HostRound> {
  await fillFrom(url, source);
  const entries = lastEntry(source);
  const started: Awaited<ReturnType<typeof followLog>>[] = [];
  for (let host = 0; host < count; host++) started.push(await followLog(url, join(scratch, String(host)), entries));
  const hosts = started.map(({ host }) => host);
  const answered: AnswerRate[] = [];
  for (let number = 1; number <= count; number++) answered.push(await ask(hosts.slice(0, number), seconds));
  await Promise.all(hosts.map((host) => host.stop()));
  const [{ host: _, ...caughtUp }] = started as [(typeof started)[number]];
  return { caughtUp, answered };
}
