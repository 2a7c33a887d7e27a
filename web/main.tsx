/** Starts the page. */
import { render } from 'preact';
import { followAddress } from './model/route.ts';
import { goLive } from './model/live.ts';
import { applyTheme } from './model/theme.ts';
import { App } from './view/app.tsx';

applyTheme();
followAddress();
goLive();
const place = document.getElementById('page');
if (place !== null) render(<App />, place);
