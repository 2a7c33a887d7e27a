/** Lists the tools of the worker's tool servers, for readers that have no connection to them. */
import type { ToolListing } from '../contracts/tool-listing.ts';
import { listingActivities } from './activity-stubs.ts';

export async function listTools(): Promise<ToolListing> {
  return await listingActivities.listTools(null);
}
