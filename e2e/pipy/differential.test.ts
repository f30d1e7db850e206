import { describeDifferential } from '../dataplane/support/differential/describe-differential.js'

describeDifferential('pipy')
