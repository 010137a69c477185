/** The page for an unknown path. */
import { visible } from '../chain/format.ts';
import { Page } from '../ui/parts.tsx';
import { Search } from '../ui/search.tsx';

/**
 * Renders a page for an unknown path, with a search for the intended object.
 * @param message describes the mistake in the path
 * @param meant initial text of the search
 */
export const NotFound = ({ message = 'No page has this address.', meant }: { message?: string; meant: string }) => (
  <Page title="Page not found" lead={<span class="break">{visible(message)}</span>}>
    <div class="row">
      <Search id="search-again" text={meant} />
      <a class="button" href="/">
        Go to the overview
      </a>
    </div>
  </Page>
);
