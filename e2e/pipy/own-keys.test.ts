import { describeOwnKeys } from '../dataplane/support/describe-own-keys.js'

describeOwnKeys('pipy')
