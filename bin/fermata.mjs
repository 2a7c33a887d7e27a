#!/usr/bin/env node
/**
 * The `fermata` command as npm installs it. It is written so that an old Node.js can still read it and say
 * what is missing; everything else is in cli/main.ts.
 */
var version = process.versions.node.split('.').map(Number);
if (version[0] < 20 || (version[0] === 20 && version[1] < 19)) {
  process.stderr.write(
    'fermata: Node.js ' +
      process.versions.node +
      ' is too old; install 20.19 or later (https://nodejs.org)\n',
  );
  process.exit(1);
}
await import('tsx');
await import('../cli/main.ts');
