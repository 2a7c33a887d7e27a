/** `run` for a client that takes a task in place of a result: the run is durable before the task is told. */
import type { RunService } from '../runs/run-service.ts';
import type { SpawnRequest } from '../runs/spawn-request.ts';
import type { ToolCall } from './tool-call.ts';
import { readTask } from './task-methods.ts';
import { createdTask, type CreatedTask } from './task-state.ts';

/** @throws UserFault as spawning does. */
export async function startTask(
  service: RunService,
  input: SpawnRequest,
  call: ToolCall,
): Promise<CreatedTask> {
  const { handle, notes } = await service.spawn(input, call);
  return createdTask(await readTask(service, handle, call), notes);
}
