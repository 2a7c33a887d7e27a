/**
 * How the list of tools is told to a model (by server, name and what it does; schemas stay with the
 * runs), and how a decision is. Pure.
 */
import type { DecideResponse } from '../../contracts/decide.ts';
import type { ListedTool, ToolListing } from '../../contracts/tool-listing.ts';
import { answerBytes, cutMiddle } from '../runs/fair-cut.ts';
import type { ToolAnswer } from './run-text.ts';

const descriptionBytes = 600;

function hints({ annotations }: ListedTool): string {
  const said = [
    ...(annotations.readOnlyHint === true ? ['reads only'] : []),
    ...(annotations.destructiveHint === true && annotations.readOnlyHint !== true ? ['destructive'] : []),
  ];
  return said.length === 0 ? '' : ` [${said.join(', ')}]`;
}

/** With very many tools the descriptions get shorter, so that no name is left out while names fit. */
export function tellTools({ tools, warnings }: ToolListing): ToolAnswer {
  const room = Math.floor((answerBytes - tools.length * 120) / Math.max(1, tools.length));
  const perTool = Math.min(descriptionBytes, Math.max(0, room));
  const shown = tools.slice(0, Math.floor(answerBytes / 120)).map((tool) => ({
    name: tool.name,
    server: tool.server,
    description: perTool < 150 ? '' : cutMiddle(tool.description, perTool),
    annotations: tool.annotations,
  }));
  const servers = [...new Set(shown.map((tool) => tool.server))].toSorted();
  const lines = servers.flatMap((server) => [
    `${server}:`,
    ...tools
      .slice(0, shown.length)
      .map((tool, index) => ({ tool, description: shown[index]?.description ?? '' }))
      .filter(({ tool }) => tool.server === server)
      .map(
        ({ tool, description }) =>
          `  ${tool.name}${hints(tool)}${description === '' ? '' : `: ${description}`}`,
      ),
  ]);
  const notes = [
    ...(tools.length === 0 ? ['No tools are offered to sub-agents.'] : []),
    ...(shown.length < tools.length ? [`${tools.length - shown.length} more tools are left out here`] : []),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  return {
    text: [...lines, ...notes].join('\n'),
    structured: { tools: shown, warnings: [...warnings], total: tools.length },
  };
}

export function tellDecision(decision: DecideResponse): ToolAnswer {
  const odds = Object.entries(decision.probabilities)
    .toSorted(([, a], [, b]) => b - a)
    .map(([label, probability]) => `${label} ${probability.toFixed(3)}`);
  const unscored = decision.unscored.length === 0 ? '' : `; not scored: ${decision.unscored.join(', ')}`;
  return { text: `${decision.label} (${odds.join(', ')}${unscored})`, structured: { ...decision } };
}
