/**
 * Opens MCP connections to one tool server, over its standard streams or HTTP, in the protocol era that it
 * speaks. What a server asks of its client is answered always: a ping by the SDK, everything else with
 * `Method not found`, since a sub-agent's worker offers no roots, no sampling and no person to ask.
 */
import { Client, SdkHttpError, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { Logger } from 'pino';
import type { ToolServerConfig } from '../../contracts/config-file.ts';
import { firstLines, type FirstLines } from './first-lines.ts';
import { createHttpTransport } from './http-transport.ts';
import { isAnsweredInAnotherEra } from './protocol-era.ts';
import { createStdioTransport } from './stdio-transport.ts';

export interface Connection {
  readonly client: Client;
  readonly openedAtMs: number;
  /** When it was lost or closed; null: it is open. */
  endedAtMs: number | null;
  /** Taken out of use by its owner; calls on it may still end. */
  retired: boolean;
  /** A request on it has succeeded. */
  answered: boolean;
  /** Calls that wait for an answer on it. */
  calls: number;
  /** Whether a change of its tools would be told on it now. */
  announcesChanges(): boolean;
}

type Negotiation = 'legacy' | 'auto' | { readonly pin: string };

const connectTimeoutMs = 15_000;
/** Milliseconds for the question which era an HTTP server is of; one that hangs on it is of the older. */
const probeTimeoutMs = 4_000;
const newestVersion = '2026-07-28';

/**
 * @param onListChanged also called when a connection ends.
 * @returns a function that opens one; it throws an Error when the server does not start or answer.
 */
export function createConnectionOpener(
  name: string,
  config: ToolServerConfig,
  logger: Logger,
  onListChanged: () => void,
): (signal: AbortSignal) => Promise<Connection> {
  // A local process is asked in the way that nearly every server knows, since it may end at any other
  // question; over HTTP the probe costs one request.
  const eras: readonly Negotiation[] =
    'url' in config ? ['auto', 'legacy'] : ['legacy', { pin: newestVersion }];
  let chosen = 0;
  return async (signal) => {
    for (let tries = 1; ; tries += 1) {
      try {
        const era = eras[chosen] ?? 'legacy';
        const connection = await openConnection({ name, config, logger, onListChanged, era }, signal);
        // A server of the older era is not asked for the newer one at each restart.
        if (connection.client.getProtocolEra() === 'legacy') chosen = eras.indexOf('legacy');
        return connection;
      } catch (error) {
        if (tries === eras.length || signal.aborted || !isAnsweredInAnotherEra(error)) throw error;
        chosen = (chosen + 1) % eras.length;
      }
    }
  };
}

interface Opening {
  readonly name: string;
  readonly config: ToolServerConfig;
  readonly logger: Logger;
  readonly onListChanged: () => void;
  readonly era: Negotiation;
}

async function openConnection(opening: Opening, signal: AbortSignal): Promise<Connection> {
  const { name, logger, onListChanged, era } = opening;
  const { transport, describeEnd } = transportOf(opening);
  const client = new Client(
    { name: 'fermata', version: '1' },
    {
      versionNegotiation: { mode: era, probe: { timeoutMs: probeTimeoutMs } },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
    },
  );
  let subscribed = false;
  const connection: Connection = {
    client,
    openedAtMs: performance.now(),
    endedAtMs: null,
    retired: false,
    answered: false,
    calls: 0,
    announcesChanges: () => subscribed,
  };
  const onError = firstLines((error) => logger.debug({ toolServer: name, error }, 'tool server error'));
  Object.assign(client, {
    onerror: (error: Error) => onError(error.message),
    onclose() {
      connection.endedAtMs ??= performance.now();
      onListChanged();
    },
  });
  try {
    await beforeAbort(
      client.connect(transport, { timeout: connectTimeoutMs, signal }),
      AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs * 2)]),
    );
  } catch (error) {
    // Before the close: how a process ends then says nothing.
    const described = describeEnd(error);
    await transport.close().catch(() => undefined);
    throw described;
  }
  subscribed = listensTo(client, 'url' in opening.config, () => {
    subscribed = false;
    onListChanged();
  });
  return connection;
}

/**
 * Whether changes of the tools come by themselves. Over HTTP the older protocol cannot tell whether its
 * stream for them is open, so that is taken for no.
 */
function listensTo(client: Client, isHttp: boolean, onEnd: () => void): boolean {
  if (client.getServerCapabilities()?.tools?.listChanged !== true) return false;
  const subscription = client.autoOpenedSubscription;
  if (subscription === undefined) return !isHttp && client.getProtocolEra() === 'legacy';
  void subscription.closed.then(onEnd);
  return subscription.honoredFilter.toolsListChanged === true;
}

/** The work goes on when the signal aborts; it is only not waited for. */
async function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new Error('it did not get ready in time'));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

interface DescribedTransport {
  readonly transport: Transport;
  /** The error of a failed opening, with what is known of the process. */
  describeEnd(error: unknown): unknown;
}

function transportOf({ name, config, logger }: Opening): DescribedTransport {
  if ('url' in config) {
    const transport = createHttpTransport(new URL(config.url), config.headers);
    return {
      transport,
      describeEnd: (error) =>
        error instanceof SdkHttpError && error.status === 401
          ? new Error('the server wants other credentials than those in its `headers` (HTTP 401)')
          : error,
    };
  }
  const { command, args, cwd } = config;
  const said: string[] = [];
  const log: FirstLines = firstLines((line) =>
    logger.debug({ toolServer: name, line }, 'tool server output'),
  );
  const transport = createStdioTransport(
    { command, args, cwd, env: { ...getDefaultEnvironment(), ...config.env } },
    {
      onNoise: log,
      onStderr(line) {
        log(line);
        said.push(line.slice(0, 500));
        if (said.length > 5) said.shift();
      },
    },
  );
  return {
    transport,
    describeEnd(error) {
      const ended = transport.ended();
      if (said.length > 0) logger.warn({ toolServer: name, said }, 'a tool server did not start; it said');
      return ended === null ? error : new Error(`its process ${ended} before it was ready`, { cause: error });
    },
  };
}
