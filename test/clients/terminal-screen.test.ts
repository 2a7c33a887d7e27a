import { describe, expect, it } from 'vitest';
import { TerminalScreen } from './terminal-screen.ts';

describe('a terminal without a window', () => {
  it('shows what a person would see, not what was sent', async () => {
    const screen = new TerminalScreen(() => undefined);
    await screen.write('waiting\u001B[4Ds 35 s\r\nsecond\u001B[2;1H\u001B[2Kthird');
    expect(screen.text).toBe('wais35sthird');
    screen.close();
  });

  it('keeps each line that was ever on it, once', async () => {
    const screen = new TerminalScreen(() => undefined);
    await screen.write('one');
    await screen.write('\r\u001B[2Ktwo');
    await screen.write('\r\u001B[2Kone');
    expect(screen.everything).toBe('two\none');
    screen.close();
  });

  it('answers where the cursor is and what kind of terminal it is', async () => {
    let answered = '';
    const screen = new TerminalScreen((text) => {
      answered += text;
    });
    await screen.write('\u001B[3;7H\u001B[6n\u001B[c');
    expect(answered).toContain('\u001B[3;7R');
    expect(answered).toContain('\u001B[?1;2c');
    screen.close();
  });
});
