/** The built-in pools. */
export const engineChoices = ['simulated', 'smollm2'] as const;
export type EngineChoice = (typeof engineChoices)[number];
