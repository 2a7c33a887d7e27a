/**
 * From the name that a client gives a run to the id that the run has here. Pure, and the same on every
 * proxy and after every restart: the same caller and name always mean the same run, and two callers
 * never the same one, whatever names they choose.
 */
import { createHash } from 'node:crypto';
import { anonymousCaller, runIdSchema, type Caller, type RunId } from '../../contracts/ids.ts';
import { handlePattern } from '../../contracts/run-names.ts';

/** A run as its client names it: it means a run only together with who asks. Same form as a run id. */
export type RunName = string & { readonly runName: true };

/** Who asks, as far as runs are concerned. */
export interface RunOwner {
  readonly caller: Caller;
  /**
   * The caller is the name of a token; else a header says so, and is believed. Only whoever is believed may
   * mean a run by its handle: that is how a worker tells whose turns it brings.
   */
  readonly named: boolean;
}

/** Callers that stand in front of a `/` as they are: without `/`, and not like a hash. */
const plainCaller = /^[\x21-\x2e\x30-\x7d][\x20-\x2e\x30-\x7d]*$/;
/** Names that cannot be taken for an id that stands behind a caller, or for a hash. */
const plainName = /^[^/~][^/]*$/;
const maxRunIdLength = 128;

/**
 * The id of the run that `owner` means by `name`.
 *
 * The anonymous caller's names are the ids themselves. Everyone else's stand behind the caller, as
 * `caller/name`; where that is no run id, a hash of both stands for it.
 */
export function scopedRun(owner: RunOwner, name: RunName): RunId {
  const { caller, named } = owner;
  if (!named && handlePattern.test(name)) return plainRun(name);
  if (caller === anonymousCaller && plainName.test(name)) return plainRun(name);
  if (plainCaller.test(caller) && caller.length + 1 + name.length <= maxRunIdLength) {
    return `${caller}/${name}` as RunId;
  }
  const hash = createHash('sha256').update(JSON.stringify([caller, name]));
  return `~${hash.digest('base64url')}` as RunId;
}

/**
 * The name by which `owner` means a run, as far as its id tells.
 * @returns null when the run is not one of `owner`'s, or stands under a hash, which tells no name.
 */
export function runNameOf(owner: RunOwner, run: RunId): RunName | null {
  const scope = `${owner.caller}/`;
  const name = (run.startsWith(scope) ? run.slice(scope.length) : run) as RunName;
  return scopedRun(owner, name) === run ? name : null;
}

/** The id that a name is for whoever means runs by their ids. */
export function plainRun(name: RunName): RunId {
  return name as string as RunId;
}

/** @returns null for what can be no name of a run. */
export function parseRunName(text: string): RunName | null {
  const parsed = runIdSchema.safeParse(text);
  return parsed.success ? (parsed.data as string as RunName) : null;
}

/** By this, what is remembered for an owner is kept apart from that of others; no header holds a line break. */
export function ownerKey({ caller, named }: RunOwner): Caller {
  return named ? (`\n${caller}` as Caller) : caller;
}
