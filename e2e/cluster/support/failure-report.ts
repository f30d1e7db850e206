import { expect, it } from '@jest/globals'
import { reportOnFailure } from './report-on-failure.js'
import type { SharedCluster } from './shared-cluster.js'

const testTimeoutMs = 300_000

/** A test whose failure leaves a report of the cluster in `.cache/cluster-reports`. */
export function clusterTest(
  name: string,
  cluster: () => SharedCluster,
  test: () => Promise<void>,
  timeoutMs = testTimeoutMs,
): void {
  // Two groups may have tests of one name.
  const fullName = (): string => expect.getState().currentTestName ?? name
  it(name, () => reportOnFailure(cluster(), fullName(), test), timeoutMs)
}
