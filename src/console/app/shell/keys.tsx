/** The keys of the console, and the dialog that shows them. */
import { useEffect, useRef } from 'preact/hooks';
import type { PageName } from '../../page-paths.ts';
import { Icon } from '../ui/icon.tsx';
import { go, pathTo } from '../ui/router.ts';
import { nextTheme } from '../ui/theme.ts';
import { SEARCH_ID } from './search.tsx';

const DIALOG_ID = 'keys';

/** Pages by the key that follows `g`. */
const PAGES: Readonly<Record<string, readonly [page: PageName, title: string]>> = {
  o: ['overview', 'Overview'],
  b: ['blocks', 'Blocks'],
  t: ['transactions', 'Transactions'],
  m: ['mempool', 'Mempool'],
  s: ['staking', 'Staking'],
  n: ['names', 'Names'],
  h: ['hooks', 'Chainhooks'],
  y: ['system', 'System'],
};

const HELP: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [['/'], 'Search'],
  [['?'], 'Show this list'],
  [['d'], 'Change the theme: as the system, light, dark'],
  [['Esc'], 'Leave a field or this list'],
  ...Object.entries(PAGES).map(([key, [, title]]) => [['g', key], `Go to ${title}`] as const),
];

/** Opens the list of keys. */
export function showKeys(): void {
  document.querySelector<HTMLDialogElement>(`#${DIALOG_ID}`)?.showModal();
}

/** Whether a key is meant for a field. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Acts on one key. @param before the key before it. @returns whether the key meant something */
function pressed(key: string, before: string): boolean {
  if (before === 'g') {
    const page = PAGES[key];
    if (page !== undefined) {
      go(pathTo(page[0]));
      return true;
    }
  }
  switch (key) {
    case '/':
      document.querySelector<HTMLInputElement>(`#${SEARCH_ID}`)?.focus();
      return true;
    case '?':
      showKeys();
      return true;
    case 'd':
      nextTheme();
      return true;
    default:
      return false;
  }
}

/** Listens to the keys, and is the dialog that shows them. */
export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let before = '';
    const listen = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && isTyping(event.target)) (event.target as HTMLElement).blur();
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (dialog.current?.open === true) return;
      if (pressed(event.key, before)) event.preventDefault();
      before = event.key;
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  return (
    <dialog id={DIALOG_ID} ref={dialog} aria-labelledby="keys-title" class="keys">
      <header class="panel-head">
        <h2 id="keys-title">Keys</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="cross" />
        </button>
      </header>
      <dl>
        {HELP.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
