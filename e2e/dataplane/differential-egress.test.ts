import { describeDifferentialEgress } from './support/differential/describe-differential-egress.js'

describeDifferentialEgress('envoy')
