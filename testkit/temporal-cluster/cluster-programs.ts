/** Absolute paths of the programs that a cluster is made of. */
export interface ClusterPrograms {
  /** Temporal's full server, `go.temporal.io/server/cmd/server`. */
  readonly server: string;
  /** Its tool for SQL schemas, `go.temporal.io/server/cmd/tools/sql`. */
  readonly sqlTool: string;
  readonly postgres: string;
  readonly initdb: string;
}
