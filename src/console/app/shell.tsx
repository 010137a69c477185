/** The frame of every page: navigation, search field, state of the chain, theme and keyboard shortcuts. */
import { effect, signal } from '@preact/signals';
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { groups, type PageName } from '../page-paths.ts';
import { connection } from './api/live.ts';
import { count } from './chain/format.ts';
import { chainState, networkName } from './chain/state.ts';
import { Announcements, Icon, type IconName } from './ui/parts.tsx';
import { current, go, pathTo, url } from './ui/router.ts';
import { SEARCH_ID, Search } from './ui/search.tsx';
import { isDevnet, server } from './ui/server-status.tsx';
import { Badge } from './ui/values.tsx';

const isMenuOpen = signal(false);

const isShown = (...pages: PageName[]): boolean => pages.some((page) => page === current.value?.page);

const Navigation = () => (
  <nav id="navigation" aria-label="Pages of the console" class={isMenuOpen.value ? 'nav open' : 'nav'}>
    {groups.map(({ title, sections }) => (
      <Fragment key={title}>
        <p class="quiet tiny" id={`nav-${title}`}>
          {title}
        </p>
        <ul aria-labelledby={`nav-${title}`}>
          {sections
            .filter(([page]) => page !== 'devnet' || isDevnet() === true)
            .map(([page, name, members]) => (
              <li key={page}>
                <a
                  href={pathTo(page)}
                  class={isShown(...members) ? 'inside' : ''}
                  aria-current={isShown(page) ? 'page' : undefined}
                >
                  {name}
                </a>
              </li>
            ))}
        </ul>
      </Fragment>
    ))}
    <ul>
      <li>
        <button type="button" class="link" onClick={showKeys}>
          Keys <kbd>?</kbd>
        </button>
      </li>
      <li>
        <ThemeSwitch />
      </li>
    </ul>
  </nav>
);

/** Renders network, state, height and lost updates, with a link to the page that explains the state. */
function ChainState() {
  const { status, error } = server.value;
  const { tone, word, detail } = chainState(status, error !== null);
  const height = status?.index.height ?? null;
  const isLive = status?.state === 'live';
  // The progress of a server that catches up contains the heights.
  const hasHeights = !isLive && tone === 'wait' && detail !== null;
  const isWrong = tone === 'bad' || (isLive && tone !== 'ok');
  const network = networkName(status?.index.chain_id ?? null, status?.simulated_node);
  return (
    <a class="state row small" href={isWrong ? pathTo('system') : '/'}>
      {network === null ? null : <Badge tone={NETWORK_TONES[network] ?? 'plain'}>{network}</Badge>}
      <strong class={tone}>
        <span aria-hidden="true">●</span> {word}
      </strong>
      {height === null || hasHeights ? null : <span class="number">#{count(height)}</span>}
      {detail === null ? null : <span>{detail}</span>}
      {connection.value === 'lost' && error === null ? <span>· no updates</span> : null}
    </a>
  );
}

const NETWORK_TONES: Readonly<Record<string, 'accent' | 'wait'>> = { Devnet: 'accent', Testnet: 'wait' };

/** The themes in the order of the switch, each with its name and icon. `auto` follows the operating system. */
const THEMES: readonly (readonly [theme: string, name: string, icon: IconName])[] = [
  ['auto', 'as the system', 'auto'],
  ['light', 'light', 'sun'],
  ['dark', 'dark', 'moon'],
];

const THEME_KEY = 'stackside.theme';

const theme = signal(THEMES.find(([name]) => name === localStorage.getItem(THEME_KEY)) ?? THEMES[0]!);

function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
}

/** Applies the theme and stores it in the browser. Called once. */
export function startTheme(): void {
  effect(() => {
    const [name] = theme.value;
    document.documentElement.dataset.theme = name;
    localStorage.setItem(THEME_KEY, name);
  });
}

function ThemeSwitch() {
  const [, name, icon] = theme.value;
  const label = `Theme: ${name}. Change it`;
  return (
    <button type="button" class="link" aria-label={label} title={label} onClick={nextTheme}>
      Theme <Icon name={icon} />
    </button>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = url.value;
  useEffect(() => {
    isMenuOpen.value = false;
  }, [path]);
  return (
    <>
      <a class="skip button sr-only" href="#main">
        Skip to the page
      </a>
      <header class="bar row">
        <button
          type="button"
          class="icon-button menu-button"
          aria-label="Menu"
          aria-expanded={isMenuOpen.value}
          aria-controls="navigation"
          onClick={() => {
            isMenuOpen.value = !isMenuOpen.value;
          }}
        >
          <Icon name={isMenuOpen.value ? 'cross' : 'menu'} />
        </button>
        <a class="logo" href="/" aria-label="Stackside, overview">
          <Icon name="logo" /> Stackside
        </a>
        <Search />
        <ChainState />
      </header>
      <Navigation />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Announcements />
      <Keys />
    </>
  );
}

const DIALOG_ID = 'keys';

/** Pages by the second key of the shortcut `g` and a key. */
const PAGES: Readonly<Record<string, PageName>> = {
  o: 'overview',
  b: 'blocks',
  t: 'transactions',
  m: 'mempool',
  c: 'contracts',
  k: 'tokens',
  s: 'staking',
  n: 'names',
  h: 'hooks',
  y: 'system',
  q: 'sql',
};

const TITLES = new Map(groups.flatMap(({ sections }) => sections.map(([page, title]) => [page, title] as const)));

const HELP: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [['/', 'Ctrl K'], 'Search'],
  [['?'], 'Show this list'],
  [['d'], 'Change the theme: as the system, light, dark'],
  [['Esc'], 'Leave a field, this list or the menu'],
  ...Object.entries(PAGES).map(([key, page]) => [['g', key], `Go to ${TITLES.get(page)}`] as const),
];

function showKeys(): void {
  document.querySelector<HTMLDialogElement>(`#${DIALOG_ID}`)?.showModal();
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>(`#${SEARCH_ID}`);
  field?.focus();
  field?.select();
}

/** Reports whether keys search from anywhere, also from within a field: Ctrl-K, or ⌘K. */
const isSearchKey = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  (ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === 'k';

/** Shortcuts of one key. */
const ACTIONS: Readonly<Record<string, () => void>> = { '/': focusSearch, '?': showKeys, d: nextTheme };

/** Handles a key. @returns whether the key is a shortcut */
function handleKey(key: string, previousKey: string): boolean {
  const page = previousKey === 'g' ? PAGES[key] : undefined;
  const action = page === undefined ? ACTIONS[key] : () => go(pathTo(page));
  action?.();
  return action !== undefined;
}

/** Handles keyboard shortcuts, and renders the dialog that lists them. */
function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let previousKey = '';
    const listen = (event: KeyboardEvent) => {
      if (dialog.current?.open === true) return;
      if (isSearchKey(event)) {
        event.preventDefault();
        focusSearch();
        return;
      }
      if (event.key === 'Escape' && isTyping(event.target)) (event.target as HTMLElement).blur();
      else if (event.key === 'Escape' && isMenuOpen.value) {
        isMenuOpen.value = false;
        // The focus may be on a link in the menu.
        document.querySelector<HTMLElement>('.menu-button')?.focus();
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (handleKey(event.key, previousKey)) event.preventDefault();
      previousKey = event.key;
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  return (
    <dialog id={DIALOG_ID} ref={dialog} aria-labelledby="keys-title">
      <header class="panel-head row spread">
        <h2 id="keys-title">Keys</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="cross" />
        </button>
      </header>
      <dl class="facts">
        {HELP.map(([keys, meaning]) => (
          <Fragment key={meaning}>
            <dt class="row">
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
    </dialog>
  );
}
