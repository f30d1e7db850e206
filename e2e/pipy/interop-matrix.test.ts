import { describeInterop } from '../dataplane/support/interop/describe-interop.js'
import { sidecarClasses } from '../dataplane/support/interop/sidecar-class.js'

// The tests with real Envoys have the pairs of the others.
describeInterop(sidecarClasses, (pair) => pair.includes('pipy'))
