import { createPipyDriver } from '@osm-ts/driver-pipy'

import { localRunner } from '../dataplane/support/scenario/local-runner.js'
import { describeScenarios } from '../dataplane/support/scenario/describe-scenarios.js'

describeScenarios(localRunner('transparent', createPipyDriver()))
