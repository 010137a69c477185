/** What stands around every page: the navigation, the search field, the state of the connection. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { sections } from '../../page-paths.ts';
import { connection, tip } from '../api/live.ts';
import { count } from '../chain/format.ts';
import { Announcements } from '../ui/announce.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { current, pathTo, place } from '../ui/router.ts';
import { nextTheme, type Theme, theme } from '../ui/theme.ts';
import { Keys, showKeys } from './keys.tsx';
import { Search } from './search.tsx';

const isMenuOpen = signal(false);

const Logo = () => (
  <a class="logo" href="/" aria-label="Stackside, overview">
    Stackside
  </a>
);

const Navigation = () => (
  <nav id="navigation" aria-label="Pages of the console" class={isMenuOpen.value ? 'nav open' : 'nav'}>
    <ul>
      {sections.map(([page, title, members]) => {
        const shown = current.value?.page;
        const isHere = shown === page;
        const isInside = shown !== undefined && members.includes(shown);
        return (
          <li key={page}>
            <a href={pathTo(page)} class={isInside ? 'inside' : ''} aria-current={isHere ? 'page' : undefined}>
              {title}
            </a>
          </li>
        );
      })}
    </ul>
    <ul class="nav-foot">
      <li>
        <a href="/docs">API reference</a>
      </li>
      <li>
        <button type="button" class="link" onClick={showKeys}>
          Keys <kbd>?</kbd>
        </button>
      </li>
    </ul>
  </nav>
);

const CONNECTION = {
  waiting: 'Connecting…',
  live: 'Live',
  lost: 'Reconnecting…',
} as const;

const Connection = () => (
  <a
    class={`connection ${connection.value}`}
    href={tip.value === null ? '/' : pathTo('block', { id: tip.value.height })}
  >
    <span class="dot" />
    {CONNECTION[connection.value]}
    {tip.value === null ? null : <span class="number">#{count(tip.value.height)}</span>}
  </a>
);

const THEME_ICONS: Readonly<Record<Theme, IconName>> = { auto: 'auto', light: 'sun', dark: 'moon' };
const THEME_NAMES: Readonly<Record<Theme, string>> = { auto: 'as the system', light: 'light', dark: 'dark' };

function ThemeSwitch() {
  const label = `Theme: ${THEME_NAMES[theme.value]}. Change it`;
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={nextTheme}>
      <Icon name={THEME_ICONS[theme.value]} />
    </button>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = place.value;
  useEffect(() => {
    isMenuOpen.value = false;
  }, [path]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="bar">
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
        <Logo />
        <Search />
        <Connection />
        <ThemeSwitch />
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
