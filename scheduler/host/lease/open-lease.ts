/** Opens the lease that the settings name. */
import type { LeaseSetting } from '../../../contracts/lease-setting.ts';
import { openFileLease } from './file-lease.ts';
import { openKubernetesAccess } from './kubernetes-access.ts';
import { openKubernetesLease } from './kubernetes-lease.ts';
import type { LeaseStore } from './lease-store.ts';

/** @throws Error with one readable line when it cannot be used at all; one that is only away is waited for. */
export async function openLease(
  setting: LeaseSetting,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<LeaseStore> {
  if (setting.kind === 'file') return await openFileLease(setting.path);
  const access = await openKubernetesAccess(environment).catch((error: unknown) => {
    const words = error instanceof Error ? error.message : String(error);
    throw new Error(`FERMATA_SCHEDULER_LEASE: ${words}`, { cause: error });
  });
  try {
    return await openKubernetesLease(access, setting);
  } catch (error) {
    await access.close();
    throw error;
  }
}
