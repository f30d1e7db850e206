import { describeFraming } from '../dataplane/support/corpus/describe-framing.js'

describeFraming('pipy')
