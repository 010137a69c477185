/** Source code with syntax colours, and Clarity values. Data of the chain is always rendered as text, never as markup. */
import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Token, tokenize, tokenLines } from '../chain/clarity.ts';
import { bufferText, visible } from '../chain/format.ts';
import { Scrollable } from './parts.tsx';
import { go, pathTo, url } from './router.ts';

const TONES: Readonly<Partial<Record<Token['kind'], string>>> = {
  keyword: 'accent',
  principal: 'accent',
  string: 'ok',
  number: 'wait',
  constant: 'wait',
  comment: 'quiet',
  paren: 'quiet',
};

const Tokens = ({ tokens }: { tokens: readonly Token[] }) => (
  <>
    {tokens.map(({ kind, text }, index) =>
      kind === 'space' || kind === 'name' ? (
        visible(text)
      ) : (
        <span key={index} class={TONES[kind]}>
          {visible(text)}
        </span>
      ),
    )}
  </>
);

/** Renders the tokens of a value, with the text of buffers after their hex. */
const ValueTokens = ({ repr }: { repr: string }) => (
  <>
    {tokenize(repr).map((token, index) => {
      const text = token.kind === 'number' ? bufferText(token.text) : null;
      return (
        <Fragment key={index}>
          <Tokens tokens={[token]} />
          {text === null ? null : <bdi class="quiet"> “{visible(text)}”</bdi>}
        </Fragment>
      );
    })}
  </>
);

/** Renders a Clarity value. */
export const Value = ({ repr }: { repr: string }) => (
  <code class="break" dir="ltr">
    <ValueTokens repr={repr} />
  </code>
);

/** Renders the value of a non-fungible token, with a link to the token's page. */
export const NftLink = ({ asset, value }: { asset: string; value: { hex: string; repr: string } }) => (
  <a href={pathTo('nft', { asset, value: value.hex })}>
    <Value repr={value.repr} />
  </a>
);

/** Maximum characters of a value outside of a scrolling box. */
const MAX_LENGTH = 160;

/** Renders a Clarity value, in a scrolling box if it is long. */
export const LongValue = ({ repr, label }: { repr: string; label: string }) =>
  repr.length <= MAX_LENGTH ? (
    <Value repr={repr} />
  ) : (
    <Scrollable label={label} class="code scroll boxed">
      <ValueTokens repr={repr} />
    </Scrollable>
  );

/** Renders the source of a contract with numbered lines. Each number links to its line. */
export function Source({ source }: { source: string }) {
  const marked = Number(/^#L(\d+)$/.exec(url.value.hash)?.[1] ?? 0);
  const line = useRef<HTMLLIElement>(null);
  // The router scrolls to the top of a new page, and the source is read later.
  useEffect(() => line.current?.scrollIntoView({ block: 'center' }), []);
  return (
    <Scrollable label="Source of the contract" class="source-lines">
      <ol>
        {tokenLines(source).map((lineTokens, index) => {
          const number = index + 1;
          return (
            <li
              key={number}
              id={`L${number}`}
              class={number === marked ? 'marked' : ''}
              ref={number === marked ? line : null}
            >
              <a
                href={`#L${number}`}
                aria-label={`Line ${number}`}
                onClick={(event) => {
                  event.preventDefault();
                  go(`${url.value.path}${location.search}#L${number}`, { replace: true });
                }}
              >
                {number}
              </a>
              <code class="break">
                <Tokens tokens={lineTokens} />
              </code>
            </li>
          );
        })}
      </ol>
    </Scrollable>
  );
}
