import type { Check } from '../check.js'
import { clusterChecks } from './cluster-checks.js'
import { ClusterFixture, type ClusterGroundOptions } from './cluster-fixture.js'

/**
 * Level 2 of the conformance suite: a cluster in which somebody has installed the mesh. The checks belong together: they are made for one run, one after the other.
 * The first one that is tried makes two namespaces; {@link close} takes them away.
 */
export class Level2 {
  readonly checks: readonly Check[]
  readonly #fixture: ClusterFixture

  constructor(options: ClusterGroundOptions) {
    this.#fixture = new ClusterFixture(options)
    this.checks = clusterChecks(this.#fixture)
  }

  /** Image of the sidecar that pods were seen with, without its registry; empty before. */
  get sidecarImage(): string {
    return this.#fixture.sidecarImage
  }

  /** Takes everything away that was made. @param wait - until it is gone; else only the order to do so is given */
  close(wait: boolean): Promise<void> {
    return this.#fixture.close(wait)
  }
}
