/** How a run of sub-agent's work ended, whoever carried it out. */
export interface WorkOutcome {
  /** null: it was done. */
  readonly fault: string | null;
  readonly answer: string | null;
  readonly toolCalls: number;
  /** As the engine counted, over all turns. */
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Carries one run out. @throws only when it was cut off. */
export type CarryOut<Work> = (work: Work) => Promise<WorkOutcome>;
