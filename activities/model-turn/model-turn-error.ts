/** A model turn that failed, as the model client saw it. */
import type { UpstreamFailure } from './classify-failure.ts';

export class ModelTurnError extends Error {
  override readonly name = 'ModelTurnError';
  readonly failure: UpstreamFailure;

  constructor(failure: UpstreamFailure) {
    super(failure.message);
    this.failure = failure;
  }
}
