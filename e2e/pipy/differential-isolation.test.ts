import { describeDifferentialIsolation } from '../dataplane/support/differential/describe-differential-isolation.js'

describeDifferentialIsolation('pipy')
