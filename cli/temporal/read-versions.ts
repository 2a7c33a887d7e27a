/** What `fermata versions` does: makes a build current if asked to, and tells of all. */
import type { TemporalSettings } from '../../temporal/temporal-settings.ts';
import { CommandFault, exitCodes } from '../exit-codes.ts';
import { asCommandFault, openConnection, statusOf } from './open-connection.ts';
import { isSameBuild, listBuilds, readPollers, setCurrentBuild, type Build } from './worker-versions.ts';

export interface VersionsRequest {
  /** Of the deployment. */
  readonly name: string;
  readonly taskQueue: string;
  /** Build id; null: nothing is changed. */
  readonly setCurrent: string | null;
}

const limitMs = 30_000;
const grpc = { notFound: 5, failedPrecondition: 9 } as const;

/** @throws CommandFault with one line that says what to do. */
export async function readVersions(
  settings: TemporalSettings,
  { name, taskQueue, setCurrent }: VersionsRequest,
): Promise<readonly (Build & { readonly hasWorkers: boolean })[]> {
  const { namespace } = settings;
  const connection = await openConnection(settings);
  try {
    return await connection.withDeadline(Date.now() + limitMs, async () => {
      if (setCurrent !== null) await setCurrentBuild(connection, namespace, { name, buildId: setCurrent });
      const [builds, polled] = await Promise.all([
        listBuilds(connection, namespace, name),
        readPollers(connection, { namespace, taskQueue }, Date.now()),
      ]);
      return builds.map((build) => ({
        ...build,
        hasWorkers: polled.builds.some((other) => isSameBuild(other, build.version)),
      }));
    });
  } catch (error) {
    const status = statusOf(error);
    if (setCurrent !== null && (status?.code === grpc.failedPrecondition || isMissingBuild(status))) {
      throw new CommandFault(
        `build ${setCurrent} of ${name} cannot be made current: ${status?.details}; start its workers with FERMATA_DEPLOYMENT=${name} FERMATA_BUILD_ID=${setCurrent} first`,
        exitCodes.failed,
        { cause: error },
      );
    }
    throw asCommandFault(error, settings, 'tell of builds');
  } finally {
    await connection.close();
  }
}

function isMissingBuild(status: ReturnType<typeof statusOf>): boolean {
  return status?.code === grpc.notFound && !/^Namespace\b/.test(status.details);
}
