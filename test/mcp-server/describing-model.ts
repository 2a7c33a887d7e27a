/**
 * A model by rules, for tests of the tools' descriptions: it knows nothing of fermata and finds out from the text
 * of `tools/list` alone how to give several tasks to sub-agents and get all answers. It takes only what a text says.
 */

export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: {
    readonly properties?: Readonly<Record<string, unknown>> | undefined;
    readonly required?: readonly string[] | undefined;
  };
}

export interface FanOutPlan {
  /** Starts one sub-agent and does not wait. */
  readonly start: { readonly tool: string; readonly taskArgument: string };
  /** Takes all handles in one call. */
  readonly collect: { readonly tool: string; readonly handlesArgument: string };
}

interface Property {
  readonly type?: unknown;
  readonly description?: unknown;
}

function propertiesOf({ inputSchema }: ListedTool): [string, Property][] {
  return Object.entries(inputSchema.properties ?? {}).map(([name, value]) => [
    name,
    { ...(value as object) },
  ]);
}

const says = ({ description = '' }: ListedTool, ...patterns: readonly RegExp[]): boolean =>
  patterns.every((pattern) => pattern.test(description));

function only<T>(found: readonly T[], what: string): T {
  const [one] = found;
  if (one === undefined || found.length > 1) {
    throw new Error(`the descriptions do not say ${what}: ${found.length} candidates`);
  }
  return one;
}

/** @throws Error that says which fact the descriptions do not tell, or tell of several tools. */
export function planFanOut(tools: readonly ListedTool[]): FanOutPlan {
  const start = only(
    tools.filter((tool) =>
      says(tool, /\bstarts?\b[^.]*\bsub-agent/i, /\bat once\b|\bimmediately\b/i, /without waiting/i),
    ),
    'which tool starts a sub-agent without waiting',
  );
  const required = new Set(start.inputSchema.required ?? []);
  const [taskArgument] = only(
    propertiesOf(start).filter(
      ([name, { type, description }]) =>
        required.has(name) &&
        type === 'string' &&
        /\bsub-agent\b|\btask\b/i.test(`${name} ${String(description)}`),
    ),
    'which argument takes the task',
  );
  const collect = only(
    tools.filter((tool) =>
      says(
        tool,
        /\bwaits? for\b[^.]*\bruns\b/i,
        new RegExp(String.raw`\b${start.name}\b`, 'i'),
        /\banswers?\b/i,
        /\ball the handles\b/i,
      ),
    ),
    'which tool waits for many of them',
  );
  if (!says(collect, /\bone call\b/i))
    throw new Error('the descriptions do not say to wait for all in one call');
  const [handlesArgument] = only(
    propertiesOf(collect).filter(
      ([name, { type, description }]) => type === 'array' && /handle/i.test(`${name} ${String(description)}`),
    ),
    'which argument takes the handles',
  );
  if (!says(start, new RegExp(String.raw`\b${collect.name}\s+once\b`, 'i'))) {
    throw new Error('the description of the start does not say to wait once, after all starts');
  }
  return {
    start: { tool: start.name, taskArgument },
    collect: { tool: collect.name, handlesArgument },
  };
}
