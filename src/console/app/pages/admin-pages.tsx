/** Pages for chainhooks and for the server: a separate part of the bundle, because most visits show none of them. */
import type { ComponentChild } from 'preact';
import type { PageName } from '../../page-paths.ts';
import { Page } from '../ui/parts.tsx';
import type { Params } from '../ui/router.ts';
import { Delivery } from './hooks/deliveries.tsx';
import { Hook } from './hooks/hook.tsx';
import { EditHook, NewHook } from './hooks/hook-editor.tsx';
import { Hooks } from './hooks/hooks.tsx';
import { SignedIn } from './signed-in.tsx';
import { Sql } from './system/sql.tsx';
import { System } from './system/system.tsx';

export type AdminPage = Extract<PageName, 'hooks' | 'newHook' | 'hook' | 'editHook' | 'delivery' | 'system' | 'sql'>;

const signedInPage = (title: string, page: (params: Params) => ComponentChild) => (params: Params) => (
  <SignedIn key={Object.values(params).join(' ')} title={title}>
    {page(params)}
  </SignedIn>
);

export const ADMIN_PAGES: Readonly<Record<AdminPage, (params: Params) => ComponentChild>> = {
  hooks: signedInPage('Chainhooks', () => <Hooks />),
  newHook: signedInPage('New chainhook', () => <NewHook />),
  hook: signedInPage('Chainhook', ({ id = '' }) => <Hook id={id} />),
  editHook: signedInPage('Chainhook', ({ id = '' }) => <EditHook id={id} />),
  delivery: signedInPage('Delivery', ({ id = '', delivery = '' }) => <Delivery hook={id} id={delivery} />),
  system: () => <System />,
  sql: () => (
    <Page title="SQL" lead="Read-only queries of the index.">
      <SignedIn operator>
        <Sql />
      </SignedIn>
    </Page>
  ),
};
