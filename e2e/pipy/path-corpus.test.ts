import { describePaths } from '../dataplane/support/corpus/describe-paths.js'

describePaths('pipy')
