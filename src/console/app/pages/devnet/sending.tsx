/** The choice of the account that sends a transaction, and the result. The node signs and mines it. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Answer } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { shortPrincipal, visible } from '../../chain/format.ts';
import { ChoiceField, TextField } from '../../ui/form.tsx';
import { Facts, Show } from '../../ui/parts.tsx';
import { MinedStatus } from '../../ui/transactions.tsx';
import { BlockLink, Stx, TxLink } from '../../ui/values.tsx';
import { WholeValue } from '../account/contract-values.tsx';

export type DevnetAccount = Answer<'/stackside/v1/devnet'>['accounts'][number];

/** Renders content from the accounts of a simulated chain, which are read again at each block. */
export const WithAccounts = ({ children }: { children: (accounts: readonly DevnetAccount[]) => ComponentChildren }) => (
  <Show loaded={useGet('/stackside/v1/devnet', {}, tipVersion.value)}>{({ accounts }) => children(accounts)}</Show>
);

/** Value of the choice for another account. */
const OTHER = '…';

/** The account that was chosen last: null before the first choice, a name, or empty for the faucet. */
const chosen = signal<string | null>(null);
/** Whether its name is typed. */
const isTyped = signal(false);

/** Returns the account that sends, by default the first, and the field for choosing it. */
export function useSender(accounts: readonly DevnetAccount[]) {
  const sender = (chosen.value ?? accounts[0]?.name ?? '').trim();
  const account = accounts.find(({ name }) => name === sender);
  const field = (
    <>
      <ChoiceField
        label="Sender"
        value={isTyped.value ? OTHER : sender}
        choices={[
          ...accounts.map(({ name, address }) => [name, `${name} · ${shortPrincipal(address)}`] as const),
          ['', 'the faucet'],
          [OTHER, 'another account'],
        ]}
        help={
          account === undefined ? (
            ''
          ) : (
            <>
              It has <Stx micro={account.balance} />
            </>
          )
        }
        onChange={(value) => {
          isTyped.value = value === OTHER;
          chosen.value = value === OTHER ? '' : value;
        }}
      />
      {isTyped.value ? (
        <TextField
          label="Account"
          value={chosen.value ?? ''}
          help="A name of your choice (its account needs funds), or an address if the devnet was started with --unsafe-impersonate"
          onChange={(name) => {
            chosen.value = name;
          }}
        />
      ) : null}
    </>
  );
  return { sender: sender === '' ? {} : { sender }, field };
}

export type CallAnswer = Answer<'/stackside/v1/devnet/call', 'post'>;

interface SentTransactionProps {
  answer: CallAnswer;
  /** Button or link to the line of the error. */
  errorLink?: ComponentChildren;
  /** Content that replaces the returned value. */
  children?: ComponentChildren;
}

export const SentTransaction = ({
  answer: { tx_id: id, status, error, block, result },
  errorLink,
  children,
}: SentTransactionProps) => (
  <section class="result" aria-label="Result">
    <Facts
      facts={[
        [
          'Status',
          <>
            <MinedStatus status={status} /> <span class="quiet">in block</span> <BlockLink height={block.height} />
          </>,
        ],
        ['Transaction', <TxLink id={id} whole />],
        [
          'Error',
          error === null ? null : (
            <>
              <span class="break">{visible(error)}</span> {errorLink}
            </>
          ),
        ],
      ]}
    />
    {children === undefined ? <WholeValue hex={result} /> : children}
  </section>
);
