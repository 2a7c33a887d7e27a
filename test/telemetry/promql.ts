/** What a PromQL query names, by Prometheus's own grammar. */
import { parser } from '@prometheus-io/lezer-promql';

export interface Selector {
  readonly metric: string;
  /** Labels that its matchers name, with what they are compared to. */
  readonly matchers: readonly { readonly label: string; readonly values: readonly string[] }[];
}

export interface Query {
  readonly selectors: readonly Selector[];
  /** Labels of `by`, `without`, `on` and `ignoring`. */
  readonly grouping: readonly string[];
  /** Labels that its result has for sure; null: those of its metrics. */
  readonly resultLabels: readonly string[] | null;
}

/** @throws Error with the query and the place for what is not PromQL. */
export function readQuery(text: string): Query {
  const query = text.replaceAll('$__rate_interval', '5m');
  const tree = parser.parse(query);
  const selectors: { metric: string; matchers: { label: string; values: string[] }[] }[] = [];
  const grouping: string[] = [];
  const ofTop: string[] = [];
  let aggregations = 0;
  const textOf = (from: number, to: number): string => query.slice(from, to);
  tree.iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`no PromQL at ${node.from}: ${query}`);
      if (node.name === 'AggregateExpr') aggregations += 1;
      if (node.name === 'VectorSelector') selectors.push({ metric: '', matchers: [] });
      const selector = selectors.at(-1);
      if (node.name === 'Identifier' && selector !== undefined) selector.metric = textOf(node.from, node.to);
      if (node.name === 'LabelName') {
        const label = textOf(node.from, node.to);
        if (node.node.parent?.name === 'GroupingLabels') {
          grouping.push(label);
          if (node.node.parent.parent?.name === 'AggregateModifier') ofTop.push(label);
        } else selector?.matchers.push({ label, values: [] });
      }
      if (node.name === 'StringLiteral') {
        selector?.matchers.at(-1)?.values.push(...textOf(node.from + 1, node.to - 1).split('|'));
      }
    },
  });
  return { selectors, grouping, resultLabels: aggregations === 0 ? null : ofTop };
}
