import { describeScenarios } from './support/scenario/describe-scenarios.js'

describeScenarios('explicit')
