/** What stands at a path without a page. */
import { Page } from '../ui/parts.tsx';

export const NotFound = () => (
  <Page title="Nothing is here" lead="No page has this address.">
    <p>
      <a class="button" href="/">
        Go to the overview
      </a>
    </p>
  </Page>
);
