/** Ends with 0 where the API tier can run; .ci/tiers.json asks. */
import { say } from '../lib/progress.mjs'
import { kubernetesObstacle } from './kubernetes-obstacle.mjs'

const obstacle = await kubernetesObstacle()
if (obstacle !== undefined) {
  say(obstacle)
  process.exitCode = 1
}
