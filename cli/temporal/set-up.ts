/**
 * `fermata setup temporal`: prepares a namespace of a Temporal cluster, or says what it lacks. What is there
 * already stays as it is; a second time changes nothing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { isMissingNamespace, isTemporalCloud, missingNamespaceWords } from '../../temporal/refusal-words.ts';
import type { TemporalSettings } from '../../temporal/temporal-settings.ts';
import { CommandFault, exitCodes } from '../exit-codes.ts';
import {
  createNamespace,
  readNamespace,
  retentionText,
  setRetention,
  wantedRetentionHours,
} from './namespace.ts';
import { asCommandFault, openConnection, statusOf } from './open-connection.ts';
import {
  addAttributes,
  attributeNames,
  isClosed,
  missingAttributes,
  waitUntilUsable,
} from './search-attributes.ts';

const callLimitMs = 90_000;
/** A cluster tells its parts of a new namespace within some ten seconds. */
const usableLimitMs = 60_000;
const alreadyExists = 6;

export interface SetUpWishes {
  readonly createNamespace: boolean;
  /** Hours that ended runs are kept; null: as it is, or {@link wantedRetentionHours} of a new namespace. */
  readonly retentionHours: number | null;
  /** Changes nothing. */
  readonly checkOnly: boolean;
}

export interface SetUpReport {
  readonly address: string;
  readonly namespace: string;
  readonly created: boolean;
  readonly retentionHours: number;
  /** null: it was so before. */
  readonly retentionHoursBefore: number | null;
  readonly added: readonly string[];
  readonly present: readonly string[];
  /** Only a check leaves any. */
  readonly missing: readonly string[];
}

/** @throws CommandFault with one line that says what to do. */
export async function setUpTemporal(settings: TemporalSettings, wishes: SetUpWishes): Promise<SetUpReport> {
  refuseOnCloud(settings, wishes);
  const connection = await openConnection(settings);
  try {
    return await connection.withDeadline(
      Date.now() + callLimitMs,
      async () => await prepare(connection, settings, wishes),
    );
  } catch (error) {
    throw asCommandFault(error, settings, `set up namespace '${settings.namespace}'`);
  } finally {
    await connection.close();
  }
}

async function prepare(
  connection: Connection,
  settings: TemporalSettings,
  wishes: SetUpWishes,
): Promise<SetUpReport> {
  const { address, namespace } = settings;
  const { created, retentionHours, before } = await prepareNamespace(connection, settings, wishes);
  const missing = await missingOnceKnown(connection, namespace, created);
  const present = attributeNames.filter((name) => !missing.includes(name));
  const report = { address, namespace, created, retentionHours, retentionHoursBefore: before, present };
  if (wishes.checkOnly) return { ...report, added: [], missing };
  if (missing.length > 0) await add(connection, settings, missing);
  if (created || missing.length > 0) await requireUsable(connection, settings);
  return { ...report, added: missing, missing: [] };
}

async function prepareNamespace(
  connection: Connection,
  settings: TemporalSettings,
  wishes: SetUpWishes,
): Promise<{ created: boolean; retentionHours: number; before: number | null }> {
  const { namespace } = settings;
  const found = await readNamespace(connection, namespace);
  if (found === null) {
    if (!wishes.createNamespace || wishes.checkOnly) {
      throw new CommandFault(missingNamespaceWords(settings));
    }
    const retentionHours = wishes.retentionHours ?? wantedRetentionHours;
    try {
      await createNamespace(connection, namespace, retentionHours);
    } catch (error) {
      if (statusOf(error)?.code !== alreadyExists) throw error;
    }
    return { created: true, retentionHours, before: null };
  }
  const { retentionHours: before } = found;
  const wanted = wishes.retentionHours;
  if (wanted === null || wanted === before || wishes.checkOnly) {
    return { created: false, retentionHours: before, before: null };
  }
  await setRetention(connection, namespace, wanted);
  return { created: false, retentionHours: wanted, before };
}

/** A new namespace reaches the part of the cluster that is asked for attributes some seconds later. */
async function missingOnceKnown(
  connection: Connection,
  namespace: string,
  created: boolean,
): Promise<readonly string[]> {
  const deadline = Date.now() + usableLimitMs;
  for (;;) {
    try {
      return await missingAttributes(connection, namespace);
    } catch (error) {
      const status = statusOf(error);
      const known = status === null || !isMissingNamespace(status);
      if (known || !created || Date.now() > deadline) throw error;
      await delay(250);
    }
  }
}

async function add(
  connection: Connection,
  { address, namespace }: TemporalSettings,
  names: readonly string[],
): Promise<void> {
  try {
    await addAttributes(connection, namespace, names);
  } catch (error) {
    if (!isClosed(error)) throw error;
    const how = isTemporalCloud(address)
      ? `on Temporal Cloud add them on its page, or with: ${cloudCommand(namespace, names)}`
      : `ask its operator to add them, each of type Keyword: temporal operator search-attribute create --namespace ${namespace} ${names.map((name) => `--name ${name} --type Keyword`).join(' ')}`;
    throw new CommandFault(
      `Temporal at ${address} lets whoever asks add no search attributes to namespace '${namespace}', and ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} missing; ${how}`,
      exitCodes.failed,
      { cause: error },
    );
  }
}

async function requireUsable(
  connection: Connection,
  { address, namespace }: TemporalSettings,
): Promise<void> {
  if (await waitUntilUsable(connection, namespace, usableLimitMs)) return;
  throw new CommandFault(
    `Temporal at ${address} took the search attributes of namespace '${namespace}', but its queries do not know them after ${usableLimitMs / 1_000} s; look again with fermata setup temporal --check`,
  );
}

/** Its namespaces are made by another API, with another login. */
function refuseOnCloud({ address, namespace }: TemporalSettings, wishes: SetUpWishes): void {
  if (!isTemporalCloud(address) || wishes.checkOnly) return;
  if (wishes.createNamespace) {
    throw new CommandFault(
      `on Temporal Cloud namespaces are made on its page, or with: tcld namespace create --namespace ${bareName(namespace)} --region REGION --retention-days 3 ${attributeNames.map((name) => `--search-attribute ${name}=Keyword`).join(' ')}`,
    );
  }
  if (wishes.retentionHours !== null) {
    throw new CommandFault(
      `on Temporal Cloud the retention is set on its page, or with: tcld namespace retention set --namespace ${namespace} --retention-days ${Math.max(1, Math.round(wishes.retentionHours / 24))}`,
    );
  }
}

function cloudCommand(namespace: string, names: readonly string[]): string {
  const attributes = names.map((name) => `--search-attribute ${name}=Keyword`).join(' ');
  return `tcld namespace search-attributes add --namespace ${namespace} ${attributes}`;
}

/** `agents.a1b2c` is namespace `agents` of account `a1b2c`. */
function bareName(namespace: string): string {
  return namespace.split('.')[0] ?? namespace;
}

/** What is wrong with how long it keeps ended runs; null: nothing. */
export function shortRetention(retentionHours: number): string | null {
  return retentionHours >= wantedRetentionHours
    ? null
    : `ended runs are kept for ${retentionText(retentionHours)} only, and then nobody can fetch their results; ${retentionText(wantedRetentionHours)} or more is wiser`;
}
