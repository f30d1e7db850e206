import { describeUnusualMessages } from './support/describe-unusual-messages.js'

describeUnusualMessages('envoy')
