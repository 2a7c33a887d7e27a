/**
 * Whether Temporal answers, has the namespace, knows fermata's search attributes and keeps ended runs long
 * enough. Changes nothing.
 */
import type { Connection } from '@temporalio/client';
import type { DeploymentVersion } from '../../contracts/settings.ts';
import { explainConnection } from '../../temporal/explain-connection.ts';
import { isTemporalCloud, missingNamespaceWords } from '../../temporal/refusal-words.ts';
import type { TemporalSettings } from '../../temporal/temporal-settings.ts';
import { readNamespace, retentionText } from '../temporal/namespace.ts';
import { asCommandFault, openConnection } from '../temporal/open-connection.ts';
import { missingAttributes } from '../temporal/search-attributes.ts';
import { shortRetention } from '../temporal/set-up.ts';
import { fault, note, ok, warning, type Finding } from './finding.ts';
import { checkWorkers } from './worker-checks.ts';

const limitMs = 5_000;

export interface Expectation {
  /** It was named, so that it is a cluster of somebody's own. */
  readonly named: boolean;
  /** It must be there: it was named, or other parts run. */
  readonly needed: boolean;
  readonly taskQueue: string;
  readonly deployment: DeploymentVersion | null;
}

export async function checkTemporal(
  settings: TemporalSettings,
  expected: Expectation,
): Promise<readonly Finding[]> {
  const { address, namespace } = settings;
  const trouble = await explainConnection(settings, limitMs);
  if (trouble !== null) {
    if (trouble.isReached || expected.needed) return [asFault(trouble.words)];
    return [note('temporal', `it does not answer at ${address}; npm start starts one`)];
  }
  try {
    const connection = await openConnection(settings);
    try {
      return await connection.withDeadline(
        Date.now() + limitMs,
        async () => await look(connection, settings, expected),
      );
    } finally {
      await connection.close();
    }
  } catch (error) {
    return [asFault(asCommandFault(error, settings, `tell of namespace '${namespace}'`).message)];
  }
}

async function look(
  connection: Connection,
  settings: TemporalSettings,
  expected: Expectation,
): Promise<readonly Finding[]> {
  const { address, namespace } = settings;
  const found = await readNamespace(connection, namespace);
  if (found === null) return [asFault(missingNamespaceWords(settings))];
  const { retentionHours } = found;
  const missing = await missingAttributes(connection, namespace);
  const says = `${address}, namespace ${namespace}, ended runs are kept for ${retentionText(retentionHours)}`;
  const attributes =
    missing.length === 0
      ? ok('temporal', says)
      : fault(
          'temporal',
          `${says}: search attributes are missing: ${missing.join(', ')}`,
          'run `fermata setup temporal`',
        );
  const { taskQueue, deployment, needed } = expected;
  const workers = needed ? await checkWorkers(connection, { namespace, taskQueue, deployment }) : [];
  return [attributes, ...retentionFinding(settings, retentionHours, expected), ...workers];
}

function retentionFinding(
  { address }: TemporalSettings,
  retentionHours: number,
  { named }: Expectation,
): readonly Finding[] {
  const short = shortRetention(retentionHours);
  if (short === null) return [];
  // The server of `npm start` keeps a day, and whoever tries fermata out does not mind.
  const remedy = isTemporalCloud(address)
    ? 'set it on the page of Temporal Cloud, or with tcld'
    : 'run `fermata setup temporal --retention 72h`';
  return [named ? warning('temporal', short, remedy) : note('temporal', short, remedy)];
}

/** The words say what is wrong and, behind it, what to do. */
function asFault(words: string): Finding {
  const [says = words, ...rest] = words.split('; ');
  return fault('temporal', says, rest.length === 0 ? 'see docs/guides/temporal.md' : rest.join('; '));
}
