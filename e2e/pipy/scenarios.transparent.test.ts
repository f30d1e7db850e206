import { createPipyDriver } from '@osm-ts/driver-pipy'

import { LocalStage } from '../dataplane/support/scenario/local-stage.js'
import { describeScenarios } from '../scenarios/runner/describe-scenarios.js'

describeScenarios(new LocalStage('transparent', createPipyDriver()))
