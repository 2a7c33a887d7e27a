/**
 * Amounts of what a budget counts and reserves. Seconds are not among them: they pass by themselves and
 * are watched by timers. All are whole numbers. Pure.
 */

/** What is reserved before it is spent. */
export const pooledNames = ['tokens', 'toolCalls'] as const;
export type PooledName = (typeof pooledNames)[number];

export type Amounts = Readonly<Record<PooledName, number>>;

/** null: not bounded. Never Infinity, which JSON does not keep. */
export type Bounds = Readonly<Record<PooledName, number | null>>;

export const noAmounts: Amounts = { tokens: 0, toolCalls: 0 };

export function mapAmounts(of: (name: PooledName) => number): Amounts {
  return { tokens: of('tokens'), toolCalls: of('toolCalls') };
}

export function mapBounds(of: (name: PooledName) => number | null): Bounds {
  return { tokens: of('tokens'), toolCalls: of('toolCalls') };
}

export function plus(a: Amounts, b: Amounts): Amounts {
  return mapAmounts((name) => a[name] + b[name]);
}

export function minus(a: Amounts, b: Amounts): Amounts {
  return mapAmounts((name) => a[name] - b[name]);
}

/** Names in which `amounts` go beyond `bounds`. */
export function beyond(amounts: Amounts, bounds: Bounds): PooledName[] {
  return pooledNames.filter((name) => {
    const bound = bounds[name];
    return bound !== null && amounts[name] > bound;
  });
}
