import { createPipyDriver } from '@osm-ts/driver-pipy'

import { LocalStage } from '../dataplane/support/scenario/local-stage.js'
import { describeScenarios } from '../dataplane/support/scenario/describe-scenarios.js'

describeScenarios(new LocalStage('explicit', createPipyDriver()))
