import { describeRouteChanges } from './support/corpus/describe-route-changes.js'

describeRouteChanges('envoy')
