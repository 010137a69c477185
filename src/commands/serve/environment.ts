/** The environment of a server: time, random numbers, cores, files and the network. Tests replace it. */
import { availableParallelism } from 'node:os';
import { type Clock, type RandomSource, systemClock, systemRandom } from '../../base/clock.ts';
import { type LossyOutputs, lossyOutputs } from '../../base/lossy-output.ts';
import { ClarityEngine } from '../../devnet/clarity/engine.ts';
import type { DeliveryRules } from '../../hooks/delivery/attempt.ts';
import { type Listen, listenHttp } from '../../http/listener.ts';
import { type Send, send } from '../../http/outgoing.ts';
import type { ClientLimits } from '../../live/realtime.ts';
import { createLog, type Level, type Log } from '../../log.ts';
import { type NodeRpc, nodeRpc } from '../../node/rpc.ts';
import { type Connect, openToWrite, WAL_LIMIT_BYTES } from '../../store/files/connection.ts';
import { type OpenSnapshots, openSnapshots } from '../../store/read/snapshots.ts';
import { type StartOwnProcess, startOwnProcess } from '../cli/this-program.ts';
import { type OpenLog, openClusterLog } from '../cluster/host.ts';
import { archiveClient } from './archive-client.ts';

export interface Environment {
  clock: Clock;
  random: RandomSource;
  /** Cores that this process may use. */
  cores: number;
  connect: Connect;
  /** Bytes above which a write-ahead log is truncated. */
  walLimitBytes: number;
  openSnapshots: OpenSnapshots;
  listen: Listen;
  /** Queries the node. @param url of its RPC interface */
  nodeRpc: (url: string) => NodeRpc;
  /** Sends requests to URLs that strangers choose. */
  send: Send;
  deliveryRules: Partial<Pick<DeliveryRules, 'timeoutMs' | 'retryCapMs' | 'concurrency'>>;
  /** Limits of realtime clients that differ from the defaults. */
  clientLimits: Partial<ClientLimits>;
  /** Streams for the log and the ready line. */
  outputs: LossyOutputs;
  createLog: (level: Level) => Log;
  openLog: OpenLog;
  /** Makes the Clarity engine of a devnet's project. It doesn't start it. */
  clarityEngine: (...options: ConstructorParameters<typeof ClarityEngine>) => ClarityEngine;
  /** Runs a command of this program next to the server. */
  startOwnProcess: StartOwnProcess;
  /** Seconds between two rounds of the archive. */
  archiveSeconds: number;
  /** Does work on the archive; once for its entries, once for its bases. */
  archiveWorker: typeof archiveClient;
  /** Prints the log lines of API threads in readable form; null if each thread writes its own JSON. */
  threadLines: { print: (line: string) => void; colors: boolean } | null;
}

export const realEnvironment: Environment = {
  clock: systemClock,
  random: systemRandom,
  cores: availableParallelism(),
  connect: openToWrite,
  walLimitBytes: WAL_LIMIT_BYTES,
  openSnapshots,
  listen: listenHttp,
  nodeRpc,
  send,
  deliveryRules: {},
  clientLimits: {},
  outputs: lossyOutputs,
  createLog,
  openLog: openClusterLog,
  clarityEngine: (...options) => new ClarityEngine(...options),
  startOwnProcess,
  archiveSeconds: 5,
  archiveWorker: archiveClient,
  threadLines: null,
};
