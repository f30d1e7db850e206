import { describeHeaderSpelling } from './support/corpus/describe-header-spelling.js'

describeHeaderSpelling('envoy')
