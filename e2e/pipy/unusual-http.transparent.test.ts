import { describeUnusualMessages } from '../dataplane/support/describe-unusual-messages.js'

describeUnusualMessages('pipy')
