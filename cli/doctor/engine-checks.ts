/** Asks each replica of the configured pool what the scheduler would ask it: is it there, may I, which models. */
import { z } from 'zod';
import type { ReplicaConfig } from '../../contracts/config-file.ts';
import type { Environment } from '../server/where.ts';
import { askHttp, type Answer } from './ask-http.ts';
import { fault, ok, warning, type Finding } from './finding.ts';

export interface Checked {
  readonly findings: readonly Finding[];
  /** What clocks said, by whose they are. */
  readonly clocks: readonly { readonly whose: string; readonly skewMs: number }[];
}

export async function checkReplica(replica: ReplicaConfig, environment: Environment): Promise<Checked> {
  const subject = `engine ${replica.id}`;
  const key = replica.apiKeyEnv === undefined ? null : (environment[replica.apiKeyEnv] ?? '');
  if (key === '') {
    const name = replica.apiKeyEnv ?? '';
    return {
      findings: [
        fault(
          subject,
          `its key is read from ${name}, which is not set`,
          `set ${name}, or take apiKeyEnv out`,
        ),
      ],
      clocks: [],
    };
  }
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  const [health, models] = await Promise.all([
    askHttp(`${replica.url}${replica.healthPath}`, headers),
    askHttp(`${replica.url}/v1/models`, headers),
  ]);
  const clocks = health.skewMs === null ? [] : [{ whose: subject, skewMs: health.skewMs }];
  return {
    findings: [healthFinding(subject, replica, health) ?? modelFinding(subject, replica, models)],
    clocks,
  };
}

/** null: it is well. */
function healthFinding(subject: string, replica: ReplicaConfig, { status, trouble }: Answer): Finding | null {
  const at = `${replica.url}${replica.healthPath}`;
  if (status === null) {
    return fault(
      subject,
      `it does not answer at ${replica.url} (${trouble ?? 'unknown'})`,
      'start the engine, or correct its url in the configuration',
    );
  }
  if (status === 401 || status === 403) {
    const name = replica.apiKeyEnv ?? 'apiKeyEnv';
    return fault(
      subject,
      `it refuses the key (HTTP ${status} at ${at})`,
      `set ${name} to a key that it knows`,
    );
  }
  if (status < 400) return null;
  return fault(
    subject,
    `it is not well: HTTP ${status} at ${at}`,
    status === 404 ? 'set healthPath to the path of its health check' : 'look into the log of the engine',
  );
}

const modelsSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

function modelFinding(subject: string, replica: ReplicaConfig, answer: Answer): Finding {
  const served = servedModels(answer.text);
  if (served === null) {
    const says = `it does not tell its models (HTTP ${answer.status ?? '-'} at /v1/models)`;
    return replica.models === undefined
      ? fault(subject, says, 'name its models in the configuration: models: [NAME]')
      : ok(subject, `${replica.url}; ${says}; configured: ${replica.models.join(', ')}`);
  }
  const unknown = (replica.models ?? []).filter((model) => !served.includes(model));
  if (unknown.length > 0) {
    return fault(
      subject,
      `it does not serve ${unknown.join(', ')}; it serves ${served.join(', ') || 'nothing'}`,
      'correct models in the configuration, or load the model in the engine',
    );
  }
  return served.length === 0
    ? warning(subject, 'it serves no model', 'load a model in the engine')
    : ok(subject, `${replica.url} serves ${served.slice(0, 5).join(', ')}`);
}

function servedModels(text: string): string[] | null {
  try {
    return modelsSchema.parse(JSON.parse(text)).data.map(({ id }) => id);
  } catch {
    return null;
  }
}
