import { describeRouteChanges } from '../dataplane/support/corpus/describe-route-changes.js'

describeRouteChanges('pipy')
