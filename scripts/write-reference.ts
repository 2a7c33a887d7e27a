/** `npm run docs`: writes what the documentation says of code from the code. `test/docs/reference.test.ts` holds it to that. */
import { writeFileSync } from 'node:fs';
import { absolutePath, referenceFiles } from './reference/files.ts';

for (const file of referenceFiles) {
  writeFileSync(absolutePath(file), file.content());
  process.stdout.write(`${file.path}\n`);
}
