import { createPipyDriver } from '@osm-ts/driver-pipy'

import { localStage } from '../dataplane/support/scenario/local-stage.js'
import { describeScenarios } from '../dataplane/support/scenario/describe-scenarios.js'

describeScenarios(localStage('explicit', createPipyDriver()))
