import { jest } from '@jest/globals'

import { describeContinuity } from '../dataplane/support/describe-continuity.js'

jest.setTimeout(60_000)

describeContinuity('pipy')
