/** The result of a transaction that the node signed and mined. */
import type { ComponentChildren } from 'preact';
import type { Answer } from '../../api/answer.ts';
import { decodedHex } from '../../chain/contract-values.ts';
import { visible } from '../../chain/format.ts';
import { Facts } from '../../ui/parts.tsx';
import { MinedStatus } from '../../ui/transactions.tsx';
import { BlockLink, TxLink } from '../../ui/values.tsx';
import { WholeValue } from '../account/contract-values.tsx';

export type Sent = Answer<'/stackside/v1/devnet/call', 'post'>;

interface SentTransactionProps {
  sent: Sent;
  /** Link to the place of the error. */
  place?: ComponentChildren;
  /** Content that replaces the returned value. */
  children?: ComponentChildren;
}

export const SentTransaction = ({
  sent: { tx_id: id, status, error, block, result },
  place,
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
              <span class="break">{visible(error)}</span> {place}
            </>
          ),
        ],
      ]}
    />
    {children === undefined ? <WholeValue value={decodedHex(result)} hex={result} /> : children}
  </section>
);
