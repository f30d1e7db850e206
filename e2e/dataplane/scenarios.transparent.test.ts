import { describeScenarios } from '../scenarios/runner/describe-scenarios.js'
import { LocalStage } from './support/scenario/local-stage.js'

describeScenarios(new LocalStage('transparent'))
