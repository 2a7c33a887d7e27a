/** Version of fermata, as its package says. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const packageSchema = z.object({ version: z.string() });
const packageUrl = new URL('../../package.json', import.meta.url);

export const packageVersion = packageSchema.parse(JSON.parse(readFileSync(packageUrl, 'utf8'))).version;
