export { agentRun as 'agent-run', listTools as 'list-tools' } from './agent-run.ts';
