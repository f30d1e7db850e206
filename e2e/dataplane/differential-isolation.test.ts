import { describeDifferentialIsolation } from './support/differential/describe-differential-isolation.js'

describeDifferentialIsolation('envoy')
