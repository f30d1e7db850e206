import { describePaths } from './support/corpus/describe-paths.js'

describePaths('envoy')
