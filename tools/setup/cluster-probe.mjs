/** Ends with 0 where a local cluster can run; .ci/tiers.json asks. */
import { say } from '../lib/progress.mjs'
import { clusterObstacle } from './cluster-programs.mjs'

const obstacle = await clusterObstacle()
if (obstacle !== undefined) {
  say(obstacle)
  process.exitCode = 1
}
