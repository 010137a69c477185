/**
 * The document of every page: the frame of the console with its navigation, which the browser paints as soon as it has the
 * style sheet. The script then puts its own frame in the place of this one, which looks the same.
 */
import type { ConsoleFiles } from './files.ts';
import { pagePaths, sections } from './page-paths.ts';

/** Where the files of the bundle are served. */
export const FILES = '/console';

/** The mark of the program: three blocks, each on the one before it. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%23312e81'/%3E%3Cg fill='%23fff'%3E%3Crect x='7' y='20' width='18' height='4' rx='1'/%3E%3Crect x='10' y='14' width='15' height='4' rx='1' opacity='.8'/%3E%3Crect x='13' y='8' width='12' height='4' rx='1' opacity='.6'/%3E%3C/g%3E%3C/svg%3E";

const navigation = sections.map(([page, title]) => `<li><a href="${pagePaths[page]}">${title}</a></li>`).join('');

/** The document, in HTML. No text of the chain stands in it. */
export const documentOf = ({ script, style }: Pick<ConsoleFiles, 'script' | 'style'>): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Stackside</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${FILES}/${style}">
<script type="module" src="${FILES}/${script}"></script>
</head>
<body>
<header class="bar"><a class="logo" href="/">Stackside</a></header>
<nav class="nav" aria-label="Pages of the console"><ul>${navigation}</ul></nav>
<main id="main">
<noscript>The console needs JavaScript. The <a href="/docs">API reference</a> describes the same data.</noscript>
<div class="loading" aria-busy="true"><span class="skeleton"></span><span class="skeleton"></span></div>
</main>
</body>
</html>
`;
