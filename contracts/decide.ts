/** `POST /v1/decide`: one classification, by a one-shot replica or by one generative token. */
import { z } from 'zod';

export const decideRequestSchema = z.strictObject({
  input: z.string().min(1),
  /** Absent: a one-shot replica's own labels. */
  labels: z.array(z.string().min(1)).min(2).max(20).optional(),
  model: z.string().min(1).optional(),
});
export type DecideRequest = z.infer<typeof decideRequestSchema>;

export const decideResponseSchema = z.object({
  label: z.string(),
  /** Probability by label; over the labels that could be scored they sum to 1. */
  probabilities: z.record(z.string(), z.number()),
  /** Labels that the model's top log-probabilities did not cover. */
  unscored: z.array(z.string()),
});
export type DecideResponse = z.infer<typeof decideResponseSchema>;
