import { describeContinuity } from '../dataplane/support/describe-continuity.js'

describeContinuity('pipy')
