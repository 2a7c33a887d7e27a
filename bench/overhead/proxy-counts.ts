/** Reads from the proxy's `/metrics` how many turns it holds and has in flight. */

export interface ProxyCounts {
  readonly held: number;
  readonly active: number;
}

export async function proxyCounts(proxyUrl: string): Promise<ProxyCounts> {
  const response = await fetch(`${proxyUrl}/metrics`, { signal: AbortSignal.timeout(10_000) });
  return parseProxyCounts(await response.text());
}

/** @throws Error when a gauge is missing: then nothing would be seen that is left. */
export function parseProxyCounts(text: string): ProxyCounts {
  const read = (name: string): number => {
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`the proxy's /metrics have no ${name}`);
    return Number(value);
  };
  return { held: read('fermata_proxy_held'), active: read('fermata_proxy_active') };
}

const pollMs = 100;

/** @returns what `read` gave last, once `isEnough` or the time is up. */
export async function pollUntil<T>(
  read: () => Promise<T>,
  isEnough: (value: T) => boolean,
  limitMs: number,
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    const value = await read();
    if (isEnough(value) || performance.now() > deadlineMs) return value;
    await new Promise((resolve) => {
      setTimeout(resolve, pollMs);
    });
  }
}

/** What this process itself keeps open to a proxy that it polls. */
export const ownConnections = 1;

export function portOf(url: string): number {
  return Number(new URL(url).port);
}
