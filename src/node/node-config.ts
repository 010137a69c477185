/** The node's configuration file: the section that makes the node post its events to Stackside, and its auth token. */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import { fileText, secretFileText } from '../base/files.ts';

const Observer = Type.Object({
  endpoint: Type.String(),
  events_keys: Type.Array(Type.String()),
  timeout_ms: Type.Optional(Type.Integer()),
  disable_retries: Type.Optional(Type.Boolean()),
  disable_contract_interface: Type.Optional(Type.Boolean()),
});
type Observer = Static<typeof Observer>;

const Config = Type.Object({
  events_observer: Type.Optional(Type.Array(Observer)),
  connection_options: Type.Optional(Type.Object({ auth_token: Type.Optional(Type.String()) })),
});

/** The settings of a node's configuration that Stackside needs. */
export interface NodeConfig {
  observers: readonly Observer[];
  /** Null if the file contains none. */
  authToken: string | null;
}

const FLAG = '--node-config';

/** Parses a node's configuration. @param file its name, for errors @throws OperatorError if it is invalid */
export function parseNodeConfig(text: string, file: string): NodeConfig {
  let parsed: unknown;
  try {
    parsed = Bun.TOML.parse(text);
  } catch (cause) {
    throw new OperatorError(
      `${file} isn't valid TOML: ${cause instanceof Error ? cause.message : String(cause)}.`,
      `Check ${FLAG}: it names the configuration file of the node.`,
      { cause },
    );
  }
  if (!Value.Check(Config, parsed)) {
    const [first] = Value.Errors(Config, parsed);
    const key = (first?.path ?? '').slice(1).replaceAll('/', '.');
    if (key === 'events_observer') {
      throw new OperatorError(
        `${file} has [events_observer], and the node needs [[events_observer]].`,
        'Write the name of the section in double brackets: a node can have several observers.',
      );
    }
    throw new OperatorError(
      `${file} has a wrong ${key}: ${first?.message ?? 'it has another type'}.`,
      'Correct it: the node reads the same file.',
    );
  }
  const { events_observer: observers = [], connection_options: options } = parsed;
  return { observers, authToken: options?.auth_token ?? null };
}

/** Reads a node's configuration. @throws OperatorError if it can't be read or is invalid */
export const readNodeConfig = (file: string): NodeConfig => parseNodeConfig(fileText(file, `Check ${FLAG}.`), file);

/**
 * Reads the node's `auth_token` from the file of `--node-auth-file`, or from the node's configuration.
 * @returns null if neither is set, or the configuration has none
 * @throws OperatorError if a file can't be read
 */
export function nodeToken({
  nodeAuthFile,
  nodeConfig,
}: Record<'nodeAuthFile' | 'nodeConfig', string | null>): string | null {
  if (nodeAuthFile !== null) return secretFileText(nodeAuthFile, '--node-auth-file');
  return nodeConfig === null ? null : readNodeConfig(nodeConfig).authToken;
}

/** Minimum timeout of an event, in milliseconds: block 0 is large, and a block is answered only when it is on the disk. */
const MIN_TIMEOUT_MS = 60_000;

export interface ObserverProblem {
  problem: string;
  remedy: string;
  /** The whole required section, as TOML. */
  section: string;
}

const portOf = (endpoint: string): string | undefined => /:(\d+)$/.exec(endpoint)?.[1];

/**
 * Returns the observer with the port of an endpoint. Compares only the port, because the node may use another name for this
 * machine.
 */
export const observerFor = ({ observers }: NodeConfig, endpoint: string): Observer | undefined =>
  observers.find((observer) => portOf(observer.endpoint) === portOf(endpoint));

/**
 * Checks the observer section for Stackside.
 * @param endpoint host and port of Stackside's event port
 * @returns the first problem; null if there is none
 */
export function observerProblem(config: NodeConfig, endpoint: string): ObserverProblem | null {
  const observer = observerFor(config, endpoint);
  if (observer === undefined) {
    return {
      problem: `The node's configuration lacks an observer for ${endpoint}`,
      remedy: 'Add this section to it, and restart the node.',
      section: observerToml(endpoint),
    };
  }
  const problem = defectOf(observer);
  if (problem === null) return null;
  const address = observer.endpoint.includes('://') ? endpoint : observer.endpoint;
  return { problem, remedy: 'Change the section to this, and restart the node.', section: observerToml(address) };
}

function defectOf({ endpoint, events_keys: keys, timeout_ms: timeout, ...disabled }: Observer): string | null {
  if (endpoint.includes('://')) return `The observer's endpoint ${endpoint} has a scheme, and the node accepts none`;
  if (!keys.includes('*')) return `The observer ${endpoint} doesn't get all events: its events_keys lack "*"`;
  if (disabled.disable_retries) {
    return `The node drops events that the observer ${endpoint} doesn't accept at once: disable_retries is true`;
  }
  if (disabled.disable_contract_interface) {
    return `The observer ${endpoint} gets contracts without their interface: disable_contract_interface is true`;
  }
  if ((timeout ?? 0) >= MIN_TIMEOUT_MS) return null;
  return `The observer ${endpoint} has too little time for large blocks: timeout_ms is ${timeout ?? 'the default of 1000'}`;
}

/** Returns the observer section. @param endpoint host and port of the event receiver, from the node's point of view */
export const observerToml = (endpoint: string): string => `[[events_observer]]
endpoint = "${endpoint}"
events_keys = ["*"]
timeout_ms = 60000
`;
