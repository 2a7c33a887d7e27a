/** What the tests of the page share: a running stack, a browser on it, and runs that a test scripts. */
import { startOwnTemporal, type OwnTemporal } from '../own-temporal.ts';
import { startTestStack, type TestStack, type TestStackOptions } from '../stack/start-test-stack.ts';
import { TestBrowser, type Look } from './browser.ts';

/** A task whose run the simulated engines play as the directive says; only its words are in lists. */
export function task(words: string, directive: Readonly<Record<string, unknown>>): string {
  return `${words}\n[[sim ${JSON.stringify(directive)}]]`;
}

export class PageStack {
  readonly stack: TestStack;
  readonly browser: TestBrowser;

  readonly #temporal: OwnTemporal;

  private constructor(temporal: OwnTemporal, stack: TestStack, browser: TestBrowser) {
    this.#temporal = temporal;
    this.stack = stack;
    this.browser = browser;
  }

  static async start(options: TestStackOptions = {}): Promise<PageStack> {
    // A page shows all runs there are: those of other tests must not be among them.
    const temporal = await startOwnTemporal();
    const [stack, browser] = await Promise.all([
      startTestStack({ ...options, temporalAddress: temporal.address }),
      TestBrowser.launch(),
    ]);
    return new PageStack(temporal, stack, browser);
  }

  async spawn(args: Readonly<Record<string, unknown>>): Promise<string> {
    const { handle } = await this.stack.client.call('spawn', args);
    return String(handle);
  }

  /** Waits for its end. */
  async ended(...handles: readonly string[]): Promise<void> {
    await this.stack.client.call('await', { handles: [...handles], timeoutSeconds: 90 });
  }

  async api<T>(path: string): Promise<T> {
    return (await (await fetch(`${this.stack.pageUrl}api/${path}`)).json()) as T;
  }

  /** Holds the reply to the next request that has `words` in it, at whichever engine it comes to. */
  hold(words: string) {
    const holds = this.stack.engines.map((engine) =>
      engine.holdNext(({ body }) => JSON.stringify(body).includes(words)),
    );
    return {
      arrived: Promise.race(holds.map(async ({ arrived }) => await arrived)),
      release: (events: number): void => {
        for (const hold of holds) hold.release(events);
      },
      releaseAll: (): void => {
        for (const hold of holds) hold.releaseAll();
      },
    };
  }

  /**
   * Looks at the page in a profile of its own. Nothing may go wrong in it, nothing may be asked from
   * elsewhere, and nothing may be wider than the window.
   */
  async look(
    at: string,
    use: (look: Look) => Promise<void>,
    options: Parameters<TestBrowser['open']>[1] & { readonly expectErrors?: boolean } = {},
  ): Promise<void> {
    const { expectErrors = false, ...context } = options;
    const look = await this.browser.open(`${this.stack.pageUrl}${at}`, context);
    try {
      await use(look);
      const foreign = look.requests.filter((url) => !url.startsWith(this.stack.pageUrl));
      const faults = [...(expectErrors ? [] : look.errors), ...foreign.map((url) => `asked ${url}`)];
      if (faults.length > 0) throw new Error(`the page went wrong: ${faults.join('; ')}`);
    } finally {
      await look.close();
    }
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.stack.close();
    await this.#temporal.close();
  }
}
