import { describeDifferentialEgress } from '../dataplane/support/differential/describe-differential-egress.js'

describeDifferentialEgress('pipy')
