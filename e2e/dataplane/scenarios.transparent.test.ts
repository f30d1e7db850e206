import { describeScenarios } from './support/scenario/describe-scenarios.js'
import { localStage } from './support/scenario/local-stage.js'

describeScenarios(localStage('transparent'))
