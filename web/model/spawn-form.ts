/** What is filled in to start a run, and the request that becomes of it. Pure but for the request's id. */
import type { ServiceClass } from '../api/types.ts';

export interface SpawnForm {
  readonly task: string;
  readonly system: string;
  /** Empty: the first of the pool. */
  readonly model: string;
  readonly serviceClass: ServiceClass;
  /** null: all there are. */
  readonly tools: readonly string[] | null;
  readonly approveTools: readonly string[];
  /** Numbers as they are typed; empty: the default. */
  readonly maxToolCalls: string;
  readonly maxTokens: string;
  readonly budgetTokens: string;
  readonly budgetToolCalls: string;
  readonly budgetSeconds: string;
  readonly parallelToolCalls: boolean;
}

export const emptyForm: SpawnForm = {
  task: '',
  system: '',
  model: '',
  serviceClass: 'interactive',
  tools: null,
  approveTools: [],
  maxToolCalls: '',
  maxTokens: '',
  budgetTokens: '',
  budgetToolCalls: '',
  budgetSeconds: '',
  parallelToolCalls: false,
};

const numberFields = [
  'maxToolCalls',
  'maxTokens',
  'budgetTokens',
  'budgetToolCalls',
  'budgetSeconds',
] as const;

/** Body of `POST /api/runs`; what is left empty is left out. The server says what does not fit. */
export function spawnBody(
  form: SpawnForm,
  parent: string | null,
  requestId: string,
): Record<string, unknown> {
  const numbers = numberFields.flatMap((name) =>
    form[name].trim() === '' ? [] : [[name, Number(form[name])] as const],
  );
  return {
    task: form.task,
    requestId,
    serviceClass: form.serviceClass,
    ...(form.system.trim() === '' ? {} : { system: form.system }),
    ...(form.model === '' ? {} : { model: form.model }),
    ...(form.tools === null ? {} : { tools: form.tools }),
    ...(form.approveTools.length === 0 ? {} : { approveTools: form.approveTools }),
    ...(form.parallelToolCalls ? { parallelToolCalls: true } : {}),
    ...(parent === null ? {} : { parent }),
    ...Object.fromEntries(numbers),
  };
}

/** Made once a form, so that a request that is sent again starts nothing twice. */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
