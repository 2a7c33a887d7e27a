/** Every workflow type of fermata, under the name that Temporal's lists show (`contracts/run.ts`). */
export { agentRun as 'agent-run' } from './agent-run.ts';
export { listTools as 'list-tools' } from './list-tools.ts';
export { runTree as 'run-tree' } from './run-tree.ts';
