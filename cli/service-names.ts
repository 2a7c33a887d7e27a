/** What the image can be: its entry point takes one of these names, or a verb of the command line. */
export const serviceNames = ['scheduler', 'proxy', 'worker', 'mcp-server', 'simulated-pool'] as const;
export type ServiceName = (typeof serviceNames)[number];

export function isServiceName(name: string | undefined): name is ServiceName {
  return serviceNames.some((one) => one === name);
}
