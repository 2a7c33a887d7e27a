/** Checks the fields of a request body; the first one that does not fit is named to the client. */
import type { z } from 'zod';
import { Fault } from '../faults.ts';

/** @throws Fault `invalid_request` that names the field. */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  body: Record<string, unknown>,
): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue === undefined || issue.path.length === 0 ? 'body' : issue.path.join('.');
  throw new Fault('invalid_request', `${path}: ${issue?.message ?? 'does not fit'}`);
}
