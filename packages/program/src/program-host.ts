import type { KubernetesApi } from '@osm-ts/kubernetes'

/** The process as {@link runProgram} sees it. */
export interface ProgramHost {
  /** Arguments after the program's name. */
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Calls back with each SIGTERM and SIGINT. The result ends it. */
  onSignal(listener: (name: string) => void): () => void
  /** Calls back with what no one has caught. The result ends it. */
  onUncaught(listener: (error: unknown) => void): () => void
  print(text: string): void
  /** Where log lines go; standard error where nothing is given. */
  readonly log?: { write(line: string): void }
  exit(code: number): void
  /** Reaches the API server, to leave an event there. */
  connect(kubeconfig: string, userAgent: string): Promise<KubernetesApi>
}
