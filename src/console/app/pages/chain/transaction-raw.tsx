/** The bytes of a transaction as they were broadcast. They may be many, so they are read when somebody asks for them. */
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { bytes } from '../../chain/format.ts';
import { Copy } from '../../ui/copy.tsx';
import { Panel, Show } from '../../ui/parts.tsx';
import { Scrollable } from '../../ui/scrollable.tsx';

export function RawTransaction({ id }: { id: string }) {
  const [shown, setShown] = useState(false);
  return (
    <Panel
      title="Raw bytes"
      source={`/stackside/v1/transactions/${id}/raw`}
      aside={
        shown ? undefined : (
          <button type="button" onClick={() => setShown(true)}>
            Show
          </button>
        )
      }
    >
      {shown ? <RawBytes id={id} /> : null}
    </Panel>
  );
}

const HEX_DIGITS_OF_A_BYTE = 2;

function RawBytes({ id }: { id: string }) {
  const params = { path: { tx_id: id } };
  const raw = useAnswer(`raw ${id}`, (signal) =>
    bodyOf(api.GET('/stackside/v1/transactions/{tx_id}/raw', { params, signal })),
  );
  return (
    <Show loaded={raw} rows={2}>
      {({ raw_tx: hex }) => (
        <>
          <p class="panel-body with-copy">
            {bytes((hex.length - '0x'.length) / HEX_DIGITS_OF_A_BYTE)} <Copy text={hex} what="raw bytes" />
          </p>
          <Scrollable label="Raw bytes in hex" class="code boxed hex">
            {hex}
          </Scrollable>
        </>
      )}
    </Show>
  );
}
