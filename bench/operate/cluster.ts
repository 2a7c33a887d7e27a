/**
 * What the operating benches stand on: fermata's services side by side, each a process, in a folder of their own,
 * with all that they need outside.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { closeInReverse, type Closable } from '../../cli/close-in-reverse.ts';
import type { Progress } from '../../cli/setup/setup-fault.ts';
import { choosePorts } from '../site/free-ports.ts';
import { bringBundle } from '../site/known-bundle.ts';
import { withoutSettings } from '../site/work-dir.ts';
import { placesOf, portsNeeded, settingsOf, type MemberKind, type Place } from './cluster-plan.ts';
import { Member } from './member.ts';
import { startOutside, type Outside, type OutsideOptions } from './outside.ts';

export interface ClusterOptions extends OutsideOptions {
  readonly name: string;
  readonly counts: Readonly<Record<MemberKind, number>>;
  /** Added to the environment of one of them. */
  readonly settings?: (place: Place, stateDir: string) => Readonly<Record<string, string>>;
  /** Arguments for Node, such as a module to load first. */
  readonly nodeArgs?: readonly string[];
}

export interface Cluster extends Outside {
  readonly members: readonly Member[];
  /** Of one kind, in order. */
  of(kind: MemberKind): readonly Member[];
  readonly stateDir: string;
  /** One more process of a kind; it is part of the cluster from then on, and not started. */
  add(kind: MemberKind, name: string, settings: Readonly<Record<string, string>>): Promise<Member>;
  /** @param keep leaves the folder with logs and Temporal's database. */
  close(keep: boolean): Promise<void>;
}

const host = '127.0.0.1';
/** The checkout: the build that everything starts with. */
export const ownRoot = resolve(import.meta.dirname, '..', '..');
const folders = { logs: 'logs', temp: 'tmp', lease: 'scheduler-lease' } as const;

/** Nothing of fermata runs yet: its members are started by {@link startMembers}. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const stateDir = await mkdtemp(join(tmpdir(), `fermata-${options.name}-`));
  for (const folder of Object.values(folders)) await mkdir(join(stateDir, folder));
  await bringBundle(stateDir);
  const running: Closable[] = [];
  const members: Member[] = [];
  const close = async (keep: boolean): Promise<void> => {
    // Those that others need go last.
    for (const kind of ['mcp-server', 'worker', 'proxy', 'scheduler'] as const) {
      const leaving = members.filter((member) => member.kind === kind);
      await Promise.all(leaving.map(async (member) => await member.close()));
    }
    await closeInReverse(running);
    if (!keep) await rm(stateDir, { recursive: true, force: true });
  };
  try {
    const outside = await startOutside(options, host, stateDir, running);
    const places = placesOf(options.counts, host, await choosePorts(host, portsNeeded(options.counts)));
    const shared = sharedSettings(options, outside, stateDir);
    const memberAt = (place: Place, settings: Readonly<Record<string, string>>): Member =>
      new Member({
        name: place.name,
        kind: place.kind,
        url: place.url,
        environment: { ...shared, ...settingsOf(place, places), ...settings },
        logsDir: join(stateDir, folders.logs),
        nodeArgs: options.nodeArgs ?? [],
      });
    members.push(...places.map((place) => memberAt(place, options.settings?.(place, stateDir) ?? {})));
    return {
      ...outside,
      members,
      of: (kind) => members.filter((member) => member.kind === kind),
      stateDir,
      async add(kind, name, settings) {
        const [port = 0] = await choosePorts(host, 1);
        const member = memberAt({ name, kind, port, url: `http://${host}:${port}` }, settings);
        members.push(member);
        return member;
      },
      close,
    };
  } catch (error) {
    await close(true);
    throw error;
  }
}

/** Settings of whoever runs the bench are none of its own. */
function sharedSettings(
  { environment, counts, name }: ClusterOptions,
  { configPath, temporal }: Outside,
  stateDir: string,
): Readonly<Record<string, string | undefined>> {
  return {
    ...withoutSettings(environment),
    TMPDIR: join(stateDir, folders.temp),
    FERMATA_CONFIG: configPath,
    FERMATA_STATE_DIR: stateDir,
    FERMATA_HOST: host,
    FERMATA_LOG_LEVEL: 'warn',
    FERMATA_TASK_QUEUE: name,
    // Alone it needs no lease.
    ...(counts.scheduler > 1 ? { FERMATA_SCHEDULER_LEASE: `file:${join(stateDir, folders.lease)}` } : {}),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: 'default',
  };
}

/** All of them, kind by kind: those that others need first. */
export async function startMembers({ members }: Cluster, progress: Progress): Promise<void> {
  for (const kind of ['scheduler', 'proxy', 'worker', 'mcp-server'] as const) {
    const ofKind = members.filter((member) => member.kind === kind);
    progress(`starting ${ofKind.map(({ name }) => name).join(', ')} ...`);
    await Promise.all(ofKind.map(async (member) => await member.start(ownRoot)));
  }
}
