import { describe, expect, it } from 'vitest';
import { readmeCommand } from '../../scripts/readme-command.ts';

const readme = `
Run \`npm start -- --nothing\` or this:

\`\`\`sh
npm start    # everything: no GPU
npx fermata run "Where is #1?"
\`\`\`

\`\`\`ts
npm start --wrong
\`\`\`
`;

describe('a command of the README', () => {
  it('is the first such line of a shell block, without its comment', () => {
    expect(readmeCommand(readme, /^npm start\b/)).toBe('npm start');
    expect(readmeCommand(readme, /^npx fermata/)).toBe('npx fermata run "Where is #1?"');
  });

  it('that is not there is an error', () => {
    expect(() => readmeCommand(readme, /^yarn/)).toThrow('the README has no command like /^yarn/');
  });
});
