import { describeHeaderSpelling } from '../dataplane/support/corpus/describe-header-spelling.js'

describeHeaderSpelling('pipy')
