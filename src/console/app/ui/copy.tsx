/** A button that copies a text. */
import { useState } from 'preact/hooks';
import { announce } from './announce.tsx';
import { Icon } from './icon.tsx';

/** How long the button shows that it copied, in milliseconds. */
const SHOWN = 1500;

/** The clipboard is missing where the page came over plain HTTP from another machine; then a selection stands in. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    void copyText(text).then(() => {
      announce(`Copied ${what}`);
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN);
    });
  return (
    <button type="button" class="icon-button copy" aria-label={`Copy ${what}`} title={`Copy ${what}`} onClick={copy}>
      <Icon name={copied ? 'check' : 'copy'} />
    </button>
  );
}
