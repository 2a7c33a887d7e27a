/** `npm run build:web`: builds the page now, as a release does, so that no server has to. */
import { keptPage } from './kept-page.ts';

try {
  process.stdout.write(`${await keptPage()}\n`);
} catch (error) {
  process.stderr.write(`fermata: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
