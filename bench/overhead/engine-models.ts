/** The models that the bench's engine serves; each is a pace at which it sends its chunks. */
export const pacedModel = 'bench-paced';
export const burstModel = 'bench-burst';
/** A stream of this one lasts as long as a test needs a replica to be full. */
export const slowModel = 'bench-slow';

export const engineModels: readonly string[] = [pacedModel, burstModel, slowModel];

/** Milliseconds between two chunks; 0: as fast as they leave one by one. */
export function chunkGapMs(model: string): number {
  if (model === slowModel) return 1_000;
  return model === pacedModel ? 10 : 0;
}
