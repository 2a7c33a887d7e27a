/** Which processes stand side by side, and where each finds the others. Pure. */

export const memberKinds = ['scheduler', 'proxy', 'worker', 'mcp-server'] as const;
export type MemberKind = (typeof memberKinds)[number];

/** A scheduler and its standby, two proxies, three workers, two mcp-servers. */
export const nineProcesses: Readonly<Record<MemberKind, number>> = {
  scheduler: 2,
  proxy: 2,
  worker: 3,
  'mcp-server': 2,
};

export interface Place {
  readonly name: string;
  readonly kind: MemberKind;
  readonly port: number;
  readonly url: string;
}

/** How many ports {@link placesOf} needs. */
export function portsNeeded(counts: Readonly<Record<MemberKind, number>>): number {
  return memberKinds.reduce((sum, kind) => sum + counts[kind], 0);
}

/** In the order in which they start: those that others need first. */
export function placesOf(
  counts: Readonly<Record<MemberKind, number>>,
  host: string,
  ports: readonly number[],
): readonly Place[] {
  const kinds = memberKinds.flatMap((kind) =>
    Array.from({ length: counts[kind] }, (_, index) => ({ kind, index })),
  );
  return kinds.map(({ kind, index }, position) => {
    const port = ports[position];
    if (port === undefined) throw new RangeError(`${kinds.length} ports are needed, not ${ports.length}`);
    return { name: `${kind}-${index + 1}`, kind, port, url: `http://${host}:${port}` };
  });
}

const portSettings: Readonly<Record<MemberKind, string>> = {
  scheduler: 'FERMATA_SCHEDULER_PORT',
  proxy: 'FERMATA_PROXY_PORT',
  worker: 'FERMATA_WORKER_PORT',
  'mcp-server': 'FERMATA_MCP_PORT',
};

/** Its own port, all schedulers and all proxies. */
export function settingsOf(place: Place, places: readonly Place[]): Readonly<Record<string, string>> {
  const urls = (kind: MemberKind): string =>
    places
      .filter((one) => one.kind === kind)
      .map(({ url }) => url)
      .join(',');
  return {
    [portSettings[place.kind]]: String(place.port),
    FERMATA_SCHEDULER_URL: urls('scheduler'),
    FERMATA_PROXY_URL: urls('proxy'),
  };
}
