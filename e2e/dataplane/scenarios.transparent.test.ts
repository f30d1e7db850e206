import { describeScenarios } from './support/scenario/describe-scenarios.js'
import { localRunner } from './support/scenario/local-runner.js'

describeScenarios(localRunner('transparent'))
