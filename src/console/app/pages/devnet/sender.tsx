/** The choice of the account that sends a transaction. The node signs for it. */
import { signal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { shortPrincipal } from '../../chain/format.ts';
import { TextField } from '../../ui/form.tsx';
import { Show } from '../../ui/parts.tsx';
import { Stx } from '../../ui/values.tsx';

export type DevnetAccount = Answer<'/stackside/v1/devnet'>['accounts'][number];

/** Renders content from the accounts of a simulated chain, which are read again at each block. */
export function OfAccounts({ children }: { children: (accounts: readonly DevnetAccount[]) => ComponentChild }) {
  const devnet = useAnswer('devnet', (signal) => bodyOf(api.GET('/stackside/v1/devnet', { signal })), tipVersion.value);
  return <Show loaded={devnet}>{({ accounts }) => children(accounts)}</Show>;
}

/** Value of the choice for another account. */
const OTHER = '…';

/** The account that was chosen last: null before the first choice, a name, or empty for the faucet. */
const chosen = signal<string | null>(null);
/** Whether its name is typed. */
const isTyped = signal(false);

/** Returns the chosen sender for the routes; empty for the faucet. @param first the name of the first account */
const senderOf = (first: string | undefined): { sender?: string } => {
  const name = (chosen.value ?? first ?? '').trim();
  return name === '' ? {} : { sender: name };
};

/** Returns the account that sends, by default the first, and the field for choosing it. */
export function useSender(accounts: readonly DevnetAccount[]) {
  const { sender } = senderOf(accounts[0]?.name);
  const account = accounts.find(({ name }) => name === sender);
  const field = (
    <>
      <label>
        Sender
        <select
          value={isTyped.value ? OTHER : (sender ?? '')}
          onChange={({ currentTarget: { value } }) => {
            isTyped.value = value === OTHER;
            chosen.value = value === OTHER ? '' : value;
          }}
        >
          {accounts.map(({ name, address }) => (
            <option key={name} value={name}>
              {name} · {shortPrincipal(address)}
            </option>
          ))}
          <option value="">the faucet</option>
          <option value={OTHER}>another account</option>
        </select>
        {account === undefined ? null : (
          <span class="quiet tiny">
            It has <Stx micro={account.balance} />
          </span>
        )}
      </label>
      {isTyped.value ? (
        <TextField
          label="Account"
          value={chosen.value ?? ''}
          help="A name of your choice (its account needs funds), or an address if the devnet was started with --unsafe-impersonate"
          mistake={null}
          onChange={(name) => {
            chosen.value = name;
          }}
        />
      ) : null}
    </>
  );
  return { sender: sender === undefined ? {} : { sender }, field };
}
