import { describeFraming } from './support/corpus/describe-framing.js'

describeFraming('envoy')
