/** The page at a path that names nothing. */
import { visible } from '../chain/format.ts';
import { Page } from '../ui/parts.tsx';
import { Search } from '../ui/search.tsx';

/**
 * Says that a path names nothing, with a search for what may have been meant.
 * @param message what is wrong with the path
 * @param meant what to search for
 */
export const NotFound = ({ message = 'No page has this address.', meant }: { message?: string; meant: string }) => (
  <Page title="Page not found" lead={<span class="break">{visible(message)}</span>}>
    <div class="not-found">
      <Search id="search-again" text={meant} />
      <a class="button" href="/">
        Go to the overview
      </a>
    </div>
  </Page>
);
