/** Every movement of an account as a file, for a period that one chooses: for accounts and taxes. */
import { useState } from 'preact/hooks';

interface DayProps {
  name: string;
  value: string;
  set: (day: string) => void;
}

const Day = ({ name, value, set }: DayProps) => (
  <label>
    <span>{name}</span>
    <input type="date" value={value} onInput={({ currentTarget }) => set(currentTarget.value)} />
  </label>
);

/** Links to the history of a principal. Without days it is the whole one; the last day is included. */
export function PrincipalHistory({ principal }: { principal: string }) {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const isTurned = from !== '' && to !== '' && to < from;
  const hrefOf = (format: 'csv' | 'json') => {
    const query = new URLSearchParams({ format });
    if (from !== '') query.set('from', from);
    if (to !== '') query.set('to', to);
    return `/stackside/v1/principals/${principal}/history?${query}`;
  };
  return (
    <details class="history">
      <summary>CSV of a period</summary>
      <div class="history-form">
        <p class="quiet">
          Every movement of STX and tokens, every fee and mining reward with the balance after it. Days are in UTC;
          without them, the file has the whole history.
        </p>
        <div class="history-days">
          <Day name="From" value={from} set={setFrom} />
          <Day name="To" value={to} set={setTo} />
          {isTurned ? (
            <p role="alert">The last day is before the first one.</p>
          ) : (
            <>
              <a class="button" href={hrefOf('csv')} download>
                Download CSV
              </a>
              <a class="button" href={hrefOf('json')} target="_blank" rel="noreferrer">
                Open JSON
              </a>
            </>
          )}
        </div>
      </div>
    </details>
  );
}
