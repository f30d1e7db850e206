import type { CustomResourceDefinition, KubernetesApi } from '@osm-ts/kubernetes'

/** What the checks look at. */
export interface CheckContext {
  readonly api: KubernetesApi
  /** Mesh that is to be installed. */
  readonly meshName: string
  /** Namespace that it is to be installed in. */
  readonly namespace: string
  /** True: the mesh shall be the only one in the cluster. */
  readonly enforceSingleMesh: boolean
  /** Class of sidecars that the mesh is to be installed with; undefined if no one said. */
  readonly sidecarClass?: string | undefined
  /** Classes whose drivers are in the programs. */
  readonly availableClasses: readonly string[]
  /** Who is to sign certificates of workloads; undefined if no one said. */
  readonly certificateManager?: string | undefined
  readonly definitions: readonly CustomResourceDefinition[]
  readonly signal: AbortSignal
}

/** Something that keeps a mesh from being installed. */
export interface Obstacle {
  /** What is wrong. */
  readonly what: string
  /** What to do about it. */
  readonly advice: string
}

/** A check before an installation. */
export interface Check {
  readonly name: string
  /**
   * The obstacles that it finds; none if all is well.
   *
   * @throws KubernetesError if it could not look
   */
  readonly run: (context: CheckContext) => Promise<readonly Obstacle[]>
}
