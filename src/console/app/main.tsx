/** The entry point of the console. */
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/forms.css';
import './styles/charts.css';
import { render } from 'preact';
import { startLive } from './api/live.ts';
import { Pages } from './pages/pages.tsx';
import { Shell, startTheme } from './shell.tsx';
import { startClocks } from './ui/clock.ts';
import { startRouter } from './ui/router.ts';
import { startServerStatus } from './ui/server-status.tsx';

function start(): void {
  startRouter();
  startLive();
  startServerStatus();
  startClocks();
  render(
    <Shell>
      <Pages />
    </Shell>,
    document.body,
  );
}

startTheme();
// The document contains a frame with the navigation, which is painted before the first page keeps the browser busy. A
// page in the background isn't painted.
if (document.hidden) start();
else requestAnimationFrame(() => setTimeout(start));
