import { describeScenarios } from './support/scenario/describe-scenarios.js'
import { LocalStage } from './support/scenario/local-stage.js'

describeScenarios(new LocalStage('transparent'))
