/**
 * The process groups of this worker's tool servers, ended for good whatever becomes of the worker: when it
 * closes them, when it exits without closing, and when it is killed. For the last a watchdog of a few
 * lines of shell waits for the end of its stdin, which comes with the death of this process, and then ends
 * what is left. It runs while a group does. A process that leaves its group is out of reach.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Writable } from 'node:stream';

const live = new Set<number>();
let watchdog: ChildProcessByStdio<Writable, null, null> | null = null;
let hooked = false;

/** @param group id of the group's first process. */
export function trackGroup(group: number): void {
  if (!hooked) process.once('exit', () => live.forEach((one) => signalGroup(one, 'SIGKILL')));
  hooked = true;
  live.add(group);
  if (watchdog === null) startWatchdog();
  else tellWatchdog(`+ ${group}`);
}

/** Kills what is left of a group and forgets it; a group that was ended before is left alone. */
export function endGroup(group: number): void {
  if (!live.delete(group)) return;
  signalGroup(group, 'SIGKILL');
  tellWatchdog(`- ${group}`);
  if (live.size > 0) return;
  watchdog?.stdin.end();
  watchdog = null;
}

/** Signals a whole process group; one that is gone already is no fault. */
export function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Servers get a second to notice the end of their stdin, and one more to obey SIGTERM. */
const watchdogScript = `
trap '' INT TERM HUP
groups=
while read -r sign group; do
  kept=
  for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
  groups=$kept
  [ "$sign" = + ] && groups="$groups $group"
done
[ -z "$groups" ] && exit 0
sleep 1
for one in $groups; do kill -s TERM -- "-$one"; done
sleep 1
for one in $groups; do kill -s KILL -- "-$one"; done
`;

/** Where it cannot be started, servers only have the end of their stdin to go by. */
function startWatchdog(): void {
  const started = spawn('/bin/sh', ['-c', watchdogScript], {
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    // Out of this process's group: what ends that group must not end the watchdog.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const forget = (): void => {
    if (watchdog === started) watchdog = null;
  };
  started.on('error', forget);
  started.on('exit', forget);
  started.stdin.on('error', forget);
  // It must not keep this process alive.
  started.unref();
  (started.stdin as Writable & { unref?: () => void }).unref?.();
  watchdog = started;
  for (const group of live) tellWatchdog(`+ ${group}`);
}

function tellWatchdog(line: string): void {
  if (watchdog?.stdin.writable === true) watchdog.stdin.write(`${line}\n`);
}
