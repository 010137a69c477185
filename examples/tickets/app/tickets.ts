/** Buys tickets, and says who has some. It talks to a node and an API at one address. */
import { setTimeout } from 'node:timers/promises';
import {
  broadcastTransaction,
  Cl,
  type ClarityValue,
  cvToValue,
  fetchCallReadOnlyFunction,
  getAddressFromPrivateKey,
  makeContractCall,
  Pc,
  PostConditionMode,
} from '@stacks/transactions';

/** Micro-STX, as the contract has it. */
const PRICE = 5_000_000;
/** Milliseconds between two questions whether a transaction was mined. */
const EVERY_MS = 100;

export interface Show {
  /** Address of the API. */
  url: string;
  /** The contract that sells the tickets. */
  contract: string;
}

/** What the published client needs to find the contract. */
function found({ url, contract }: Show) {
  const [contractAddress = '', contractName = ''] = contract.split('.');
  return { contractAddress, contractName, network: 'testnet', client: { baseUrl: url } } as const;
}

/** Asks the API. @returns null where it has nothing of this path */
async function asked<T>({ url }: Show, path: string): Promise<T | null> {
  const response = await fetch(url + path);
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  return (await response.json()) as T;
}

/**
 * Buys a ticket: pays its price and no more, and waits until the transaction is mined.
 * @param senderKey private key of the buyer, in hex
 * @returns the number of the ticket
 * @throws Error if the node or the contract refuses
 */
export async function buyTicket(show: Show, senderKey: string): Promise<number> {
  const { network, client, ...contract } = found(show);
  const buyer = getAddressFromPrivateKey(senderKey, network);
  const transaction = await makeContractCall({
    ...contract,
    functionName: 'buy',
    functionArgs: [],
    senderKey,
    network,
    client,
    postConditionMode: PostConditionMode.Deny,
    postConditions: [Pc.principal(buyer).willSendEq(PRICE).ustx()],
  });
  const sent = await broadcastTransaction({ transaction, network, client });
  if ('reason' in sent) throw new Error(`The node refused the transaction: ${sent.reason}`);
  for (;;) {
    const path = `/extended/v3/transactions/0x${sent.txid}?include=result`;
    const mined = await asked<{ status: string; result?: { hex: string; repr: string } }>(show, path);
    if (mined?.result !== undefined) {
      if (mined.status !== 'success') throw new Error(`No ticket was sold: ${mined.status} ${mined.result.repr}`);
      return numberIn(mined.result.hex);
    }
    await setTimeout(EVERY_MS);
  }
}

/** The number in a serialized value, such as `u5` and `(ok u5)`. */
function numberIn(hex: string): number {
  const value: ClarityValue = Cl.deserialize(hex);
  return Number(cvToValue(value.type === 'ok' ? value.value : value));
}

/** The number of tickets that are left, as the contract says. */
export async function seatsLeft(show: Show): Promise<number> {
  const { contractAddress: senderAddress } = found(show);
  return Number(
    cvToValue(
      await fetchCallReadOnlyFunction({
        ...found(show),
        functionName: 'get-seats-left',
        functionArgs: [],
        senderAddress,
      }),
    ),
  );
}

/** The numbers of the tickets that an account has, as the API says. */
export async function ticketsOf(show: Show, address: string): Promise<number[]> {
  const path = `/extended/v3/principals/${address}/balances/nft`;
  const held = await asked<{ results: { asset_identifier: string; value: { hex: string } }[] }>(show, path);
  return (held?.results ?? [])
    .filter(({ asset_identifier: asset }) => asset === `${show.contract}::ticket`)
    .map(({ value }) => numberIn(value.hex))
    .sort((a, b) => a - b);
}
