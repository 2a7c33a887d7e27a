/**
 * The configuration in force, kept up to date with its file. A file that cannot be used changes nothing:
 * its fault is logged once, told by `status`, and forgotten with the next good one. It applies nothing
 * itself; who follows it does.
 */
import type { Logger } from 'pino';
import type { ConfigFile } from '../contracts/config-file.ts';
import { maxFaultLines, type ConfigFaultStatus, type ConfigStatus } from '../contracts/config-status.ts';
import { changeForLog, diffConfigs, type ConfigChange } from './diff-configs.ts';
import { watchFileState } from './file-watch.ts';
import { ConfigFault, parseConfig, readConfigText } from './read-config.ts';

/** Puts a configuration in force; must not take long, and must keep what is in flight. */
export type ApplyConfig = (config: ConfigFile, change: ConfigChange) => void;

export interface LiveConfig {
  current(): ConfigFile;
  status(): ConfigStatus;
  /**
   * Calls `apply` with every later configuration; at once when `since` is not the one in force any more.
   * What it throws is logged.
   * @param since with which whoever follows was started.
   */
  follow(since: ConfigFile, apply: ApplyConfig): void;
  /** Reads the file now. Never rejects. */
  reload(): Promise<void>;
  close(): void;
}

export interface LiveConfigOptions {
  readonly logger: Logger;
  /** Milliseconds from one look at the file to the next; a change is told after two. */
  readonly everyMs?: number;
}

/** So that a change is in force well within two seconds. */
const lookEveryMs = 300;

/** @throws ConfigFault when the file cannot be used now. */
export async function openConfig(path: string, options: LiveConfigOptions): Promise<LiveConfig> {
  const { logger, everyMs = lookEveryMs } = options;
  let live: FileConfig | null = null;
  let changed = false;
  const onChange = (): void => {
    changed = true;
    void live?.reload();
  };
  // Before it is read, so that no change is missed in between.
  const watch = await watchFileState(path, { everyMs, onChange });
  try {
    live = new FileConfig(path, { logger, stopWatch: () => watch.close(), text: await readConfigText(path) });
  } catch (error) {
    watch.close();
    throw error;
  }
  if (changed) void live.reload();
  return live;
}

/** One that never changes: there is no file. */
export function fixedConfig(config: ConfigFile): LiveConfig {
  const status: ConfigStatus = { source: null, loadedAt: new Date().toISOString(), fault: null };
  return {
    current: () => config,
    status: () => status,
    follow: () => {},
    reload: async () => {},
    close: () => {},
  };
}

interface InForce {
  readonly config: ConfigFile;
  readonly loadedAt: string;
}

interface FileConfigParts {
  readonly logger: Logger;
  readonly stopWatch: () => void;
  /** The file as it is now. */
  readonly text: string;
}

class FileConfig implements LiveConfig {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #stopWatch: () => void;
  readonly #followers = new Set<ApplyConfig>();
  #inForce: InForce;
  /** What was read last, in force or not; null: it could not be read. */
  #lastText: string | null;
  #fault: ConfigFaultStatus | null = null;
  #reading = Promise.resolve();

  /** @throws ConfigFault */
  constructor(path: string, { logger, stopWatch, text }: FileConfigParts) {
    this.#path = path;
    this.#logger = logger;
    this.#stopWatch = stopWatch;
    this.#inForce = { config: parseConfig(path, text), loadedAt: new Date().toISOString() };
    this.#lastText = text;
  }

  current(): ConfigFile {
    return this.#inForce.config;
  }

  status(): ConfigStatus {
    return { source: this.#path, loadedAt: this.#inForce.loadedAt, fault: this.#fault };
  }

  follow(since: ConfigFile, apply: ApplyConfig): void {
    this.#followers.add(apply);
    const { config } = this.#inForce;
    if (config !== since) this.#apply(apply, config, diffConfigs(since, config));
  }

  async reload(): Promise<void> {
    // One after the other, so that an older reading never wins over a newer one.
    this.#reading = this.#reading.then(async () => await this.#readAgain());
    await this.#reading;
  }

  close(): void {
    this.#followers.clear();
    this.#stopWatch();
  }

  async #readAgain(): Promise<void> {
    try {
      const text = await readConfigText(this.#path).catch((error: unknown) => {
        // It counts anew when it is there again, whatever it was before.
        this.#lastText = null;
        throw error;
      });
      // Touched, replaced by the same, or asked for without a change.
      if (text === this.#lastText) return;
      this.#lastText = text;
      this.#take(parseConfig(this.#path, text));
    } catch (error) {
      this.#refuse(error);
    }
  }

  #take(config: ConfigFile): void {
    const change = diffConfigs(this.#inForce.config, config);
    const hadFault = this.#fault !== null;
    this.#fault = null;
    const source = this.#path;
    if (change.sections.length === 0) {
      if (hadFault) this.#logger.info({ source }, 'the configuration file is usable again; nothing changes');
      return;
    }
    this.#inForce = { config, loadedAt: new Date().toISOString() };
    this.#logger.info({ source, ...changeForLog(change) }, 'the configuration has changed');
    for (const apply of this.#followers) this.#apply(apply, config, change);
  }

  #refuse(error: unknown): void {
    if (!(error instanceof ConfigFault)) this.#logger.error({ err: error }, 'the configuration was not read');
    const lines = faultLines(error);
    // Told once, however often the same is found.
    if (this.#fault?.lines.join('\n') === lines.join('\n')) return;
    this.#fault = { since: this.#fault?.since ?? new Date().toISOString(), lines };
    this.#logger.error(
      { source: this.#path, faults: lines },
      'the configuration file cannot be used; the configuration from before stays in force',
    );
  }

  #apply(apply: ApplyConfig, config: ConfigFile, change: ConfigChange): void {
    try {
      apply(config, change);
    } catch (error) {
      this.#logger.error({ err: error }, 'the changed configuration could not be put in force');
    }
  }
}

function faultLines(error: unknown): string[] {
  if (!(error instanceof ConfigFault)) return ['cannot be read; the log says more'];
  const { faults } = error;
  if (faults.length <= maxFaultLines) return [...faults];
  const shown = faults.slice(0, maxFaultLines - 1);
  return [...shown, `and ${faults.length - shown.length} more`];
}
