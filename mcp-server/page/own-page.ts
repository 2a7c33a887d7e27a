/** This checkout's page, as a server hands it out. */
import type { PageSource } from './add-page.ts';
import { keptPage } from './kept-page.ts';
import { readPageFiles } from './page-files.ts';

export const ownPage: PageSource = async () => await readPageFiles(await keptPage());
