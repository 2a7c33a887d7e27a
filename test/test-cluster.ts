/** What `npm run test:cluster` tells the tests of the cluster that it has started. */
import { z } from 'zod';

export const testClusterSchema = z.strictObject({
  /** host:port of its server; namespace `default`, with fermata's search attributes. */
  address: z.string(),
  programs: z.strictObject({ server: z.string(), sqlTool: z.string() }),
  /** For servers of a test's own. */
  postgres: z.strictObject({ host: z.string(), port: z.number(), user: z.string(), password: z.string() }),
});
export type TestCluster = z.infer<typeof testClusterSchema>;
