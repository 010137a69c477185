/** `stackside doctor`: each check is a function of the facts, with a problem and its remedy. */
import { systemClock } from '../../base/clock.ts';
import { withoutCredentials } from '../../base/credentials.ts';
import { bytes, count, durationInWords, plural, sentence } from '../../base/format.ts';
import { chainIdText } from '../../chain/network.ts';
import { observerFor, observerProblem } from '../../node/node-config.ts';
import { nodeRpc } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { unreleasedFile } from '../../store/files/connection.ts';
import { unreleasedIndex } from '../../store/files/database.ts';
import { type Facts, gatherFacts } from './facts.ts';

export type Finding =
  | { state: 'ok'; message: string }
  /** The check doesn't apply, or needs something that another check reports. */
  | { state: 'skipped'; message: string }
  | {
      state: 'problem';
      message: string;
      remedy: string;
      /** The observer section that the node's configuration needs, as TOML. */
      observer?: string;
    };

const ok = (message: string): Finding => ({ state: 'ok', message });
const skipped = (message: string): Finding => ({ state: 'skipped', message });
const problem = (message: string, remedy: string, observer?: string): Finding => ({
  state: 'problem',
  message,
  remedy,
  ...(observer === undefined ? {} : { observer }),
});

const NO_SERVER = 'No server answers with these settings.';
const NO_NODE = "The node doesn't answer.";

/** Maximum seconds between the clocks of this machine and the node: webhooks are signed with the time. */
const MAX_CLOCK_DIFFERENCE = 10;
/** The operator must act if the free space, or the time until the disk is full, is lower. */
const MIN_FREE_BYTES = 1e9;
const MIN_SECONDS_LEFT = 7 * 86_400;
/** Blocks that the index may lack, because a node reports a block's height before it posts the block. */
const BLOCKS_BEHIND = 2;
const UNAUTHORIZED = [401, 403];

/** Alerts that another check also reports. */
const COVERED = new Set([
  'StacksideCannotWrite',
  'StacksideNoBlocks',
  'StacksideBehindNode',
  'StacksideNodeUnreachable',
]);

const endpointOf = ({ server, settings }: Facts): string =>
  server?.events?.endpoint ?? `127.0.0.1:${settings.eventPort}`;

/** The checks by name, in the order of the report. */
const checks: Readonly<Record<string, (facts: Facts) => Finding>> = {
  node({ node, nodeUrl, nodeFailure, server }) {
    if (server?.simulated_node) return skipped('The server is a devnet, which simulates its node.');
    return node === null
      ? problem(sentence(nodeFailure), 'Start the node, or name the address of its RPC with --node-rpc.')
      : ok(`${nodeUrl} answers, at block ${count(node.height)}.`);
  },

  chain({ node, nodeUrl, data, settings: { network } }) {
    const stored = data?.value?.chainId ?? null;
    const expected = stored ?? network;
    if (node === null) return skipped(NO_NODE);
    const theirs = chainIdText(node.chainId);
    if (expected === null || expected === node.chainId) return ok(`The node belongs to chain ${theirs}.`);
    if (stored === null) {
      return problem(
        `The node at ${nodeUrl} belongs to chain ${theirs}, but --network is ${chainIdText(expected)}.`,
        'Check --node-rpc, or omit --network.',
      );
    }
    return problem(
      `The node at ${nodeUrl} belongs to chain ${theirs}, and the data to chain ${chainIdText(expected)}.`,
      `Name a node of chain ${chainIdText(expected)} with --node-rpc, or use another --data directory for chain ${theirs}.`,
    );
  },

  sync({ node, server }) {
    if (node === null) return skipped(NO_NODE);
    if (node.isSynced === false) {
      return problem('The node itself is not synced yet.', 'Wait until the node has the whole chain.');
    }
    if (server === null) return skipped(NO_SERVER);
    if (server.state === 'stuck') return skipped('Blocks are missing: see the check of blocks.');
    if (['starting', 'catching_up'].includes(server.state)) return ok(server.reason ?? 'The index catches up.');
    const lag = node.height - (server.index.height ?? 0);
    if (lag <= BLOCKS_BEHIND) return ok(`The index is at block ${count(server.index.height ?? 0)}.`);
    return problem(
      `The index is ${plural(lag, 'block')} behind the node: ${server.reason ?? server.state}`,
      server.next,
    );
  },

  observer(facts) {
    const { nodeConfig, settings } = facts;
    if (settings.snp !== null) return skipped('Events come from stacks-node-publisher.');
    const endpoint = endpointOf(facts);
    if (nodeConfig === null) {
      return skipped("The node's configuration wasn't checked: name it with --node-config.");
    }
    if (nodeConfig.error !== null) return problem(nodeConfig.error.message, nodeConfig.error.remedy);
    const wrong = observerProblem(nodeConfig.value, endpoint);
    if (wrong === null) {
      const address = observerFor(nodeConfig.value, endpoint)?.endpoint ?? endpoint;
      const route = address === endpoint ? '' : `. The node must reach ${endpoint} with this address`;
      return ok(`The node's configuration has an observer for ${address}${route}.`);
    }
    return problem(`${wrong.problem}.`, wrong.remedy, wrong.section);
  },

  events({ server }) {
    if (server === null) return skipped(NO_SERVER);
    const isSilent = ['waiting_for_the_node', 'waiting_for_the_first_event', 'stale'].includes(server.state);
    if (isSilent) return problem(server.reason ?? '', server.next, server.observer ?? undefined);
    if (server.events === null) return skipped('The server accepts no events.');
    const { per_second: rate } = server.events;
    return ok(`${plural(Math.round(rate * 60), 'event')} arrived in the last minute.`);
  },

  blocks({ server }) {
    if (server === null) return skipped(NO_SERVER);
    if (server.state === 'stuck') return problem(server.reason ?? '', server.next);
    return ok('No block is missing.');
  },

  server({ server, url, alerts }) {
    if (server === null) return skipped(`No server answers at ${url}. If it has another port, set --api-port.`);
    if (['cannot_write', 'cannot_read', 'wrong_chain'].includes(server.state)) {
      return problem(server.reason ?? '', server.next);
    }
    const others = alerts.filter(({ name }) => !COVERED.has(name));
    // Other checks report the problem of another state.
    if (others.length === 0) return ok(`The server at ${url} ${server.state === 'live' ? 'is live' : 'answers'}.`);
    return problem(
      others.flatMap(({ summaries }) => summaries).join(' '),
      others.map(({ description }) => description).join(' '),
    );
  },

  token({ token, tokenStatus, node }) {
    if (token === null) {
      return skipped("Without the node's auth token, Stackside can't fill missing blocks: see --node-config.");
    }
    if (token.error !== null) return problem(token.error.message, token.error.remedy);
    if (node === null || tokenStatus === null) return skipped(NO_NODE);
    return UNAUTHORIZED.includes(tokenStatus)
      ? problem(
          'The node rejects the auth token.',
          "Give the auth_token of the node's [connection_options] with --node-config or --node-auth-file, and restart the node if it changed.",
        )
      : ok('The node accepts the auth token.');
  },

  ports({ server, takenPorts, url }) {
    if (server !== null) return ok(`The server answers at ${url}.`);
    if (takenPorts.length === 0) return ok('The ports are free.');
    const portList = takenPorts.map(({ flag, port }) => `${port} (${flag})`).join(' and ');
    return problem(
      `No Stackside answers at ${url}, but port ${portList} is in use.`,
      `If a Stackside that hangs uses the port, restart it. Otherwise, stop the other program, or choose another port with ${takenPorts.map(({ flag }) => flag).join(' and ')}.`,
    );
  },

  clock({ node }) {
    if (node === null) return skipped(NO_NODE);
    if (node.secondsAhead === null) return skipped("The node doesn't report its time.");
    const seconds = Math.abs(node.secondsAhead);
    if (seconds <= MAX_CLOCK_DIFFERENCE) return ok("The clock agrees with the node's.");
    const direction = node.secondsAhead > 0 ? 'behind' : 'ahead of';
    return problem(
      `The clock is ${durationInWords(seconds)} ${direction} the node's.`,
      'Synchronise both clocks with NTP.',
    );
  },

  disk({ freeBytes, server }) {
    if (freeBytes === null) return skipped("The free space can't be determined.");
    const free = `${bytes(freeBytes)} are free`;
    const full = server?.disk.growth?.full_in_seconds ?? null;
    const fullText = full === null ? '' : `, and the disk is full in ${durationInWords(full)}`;
    const isShort = freeBytes < MIN_FREE_BYTES || (full !== null && full < MIN_SECONDS_LEFT);
    return isShort
      ? problem(`${free}${fullText}.`, 'Free space, or move the data directory.')
      : ok(`${free}${fullText}.`);
  },

  archive({ server, archive: stored, settings: { archive } }) {
    if (server === null) {
      if (stored === null) return skipped('No archive is written.');
      if (stored.error !== null) return problem(stored.error.message, stored.error.remedy);
      return ok(`${stored.value} can be reached. Only an upload shows whether the archive accepts writes.`);
    }
    if (server.archive === null) {
      if (server.cluster !== null) {
        return skipped(
          'The host that delivers chainhooks writes the archive, if it has --archive: give all hosts the same one.',
        );
      }
      if (archive === null) return skipped('No archive is written.');
      return problem(
        `The server doesn't write the archive at ${withoutCredentials(archive)}.`,
        'Restart the server with --archive.',
      );
    }
    const { failing, behind_entries: entries, behind_seconds: seconds, base } = server.archive;
    const remedy = "Read the server's log: the event service_failing has the reason.";
    if (failing) {
      return problem(
        `The last attempt to write the archive failed. It lacks ${plural(entries, 'entry')} and has been incomplete for ${durationInWords(Math.round(seconds))}.`,
        remedy,
      );
    }
    if (base.failing) return problem('The last attempt to write a base to the archive failed.', remedy);
    return ok(
      `The archive lacks ${plural(entries, 'entry')}. Only the next upload shows whether it still accepts writes.`,
    );
  },

  from({ from }) {
    if (from === null) return skipped('No archive is followed.');
    return from.error === null ? ok(`${from.value} can be reached.`) : problem(from.error.message, from.error.remedy);
  },

  format({ data, settings: { data: directory } }) {
    if (data === null) return ok(`${directory} is still empty.`);
    if (data.error !== null) return problem(data.error.message, data.error.remedy);
    const { index, journal } = data.value.files;
    if (index === 'newer' && journal === 'used') {
      return problem(
        `A newer version of Stackside wrote the index in ${directory}.`,
        'Run the newer version, or rebuild the index with this one: stackside rebuild.',
      );
    }
    if (index === 'newer' || journal === 'newer') {
      return problem(`A newer version of Stackside wrote ${directory}.`, 'Install that version, or a later one.');
    }
    if (index === 'unreleased' || journal === 'unreleased') {
      const { message, remedy } = (journal === 'used' ? unreleasedIndex : unreleasedFile)(directory);
      return problem(message, remedy);
    }
    return ok(
      index === 'upgraded'
        ? 'The first start upgrades the index, which takes some seconds for each GB.'
        : 'This version can use the data directory.',
    );
  },
};

/** Runs the checks. */
export const runChecks = (facts: Facts): ({ name: string } & Finding)[] =>
  Object.entries(checks).map(([name, check]) => ({ name, ...check(facts) }));

const WIDTHS = { state: 8, name: 9 };

const below = (text: string): string => text.trimEnd().replace(/^/gm, ' '.repeat(WIDTHS.state + 1 + WIDTHS.name));

/** Prints the checks. @param json whether to print one JSON object @returns whether there is no problem */
export async function reportDoctor(settings: Settings, json: boolean): Promise<boolean> {
  const findings = runChecks(await gatherFacts(settings, nodeRpc(settings.nodeRpc), systemClock));
  const isWell = findings.every(({ state }) => state !== 'problem');
  if (json) {
    process.stdout.write(`${JSON.stringify({ ok: isWell, checks: findings })}\n`);
    return isWell;
  }
  for (const finding of findings) {
    const { state, name, message } = finding;
    process.stdout.write(`${state.padEnd(WIDTHS.state)} ${name.padEnd(WIDTHS.name)}${message}\n`);
    if (finding.state !== 'problem') continue;
    process.stdout.write(`${below(finding.remedy)}\n`);
    if (finding.observer !== undefined) process.stdout.write(`\n${below(finding.observer)}\n\n`);
  }
  return isWell;
}
