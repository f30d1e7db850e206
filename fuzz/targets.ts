import type { FuzzTarget } from './fuzz-target.js'
import { admissionTargets } from './targets/admission.js'
import { certificateTargets } from './targets/certificates.js'
import { driverTargets } from './targets/drivers.js'
import { envoyTargets } from './targets/envoy.js'
import { expressionTargets } from './targets/expressions.js'
import { injectionTargets } from './targets/injection.js'
import { kubernetesTargets } from './targets/kubernetes.js'
import { nameTargets } from './targets/names.js'
import { objectTargets } from './targets/objects.js'
import { pipyTargets } from './targets/pipy.js'
import { requestTargets } from './targets/requests.js'
import { standaloneTargets } from './targets/standalone.js'

/** Every fuzz target, sorted by name. Those of one call share what is dear to make. */
export function fuzzTargets(): readonly FuzzTarget[] {
  return [
    ...admissionTargets(),
    ...certificateTargets(),
    ...driverTargets,
    ...envoyTargets,
    ...expressionTargets,
    ...injectionTargets(),
    ...kubernetesTargets(),
    ...nameTargets,
    ...objectTargets(),
    ...pipyTargets,
    ...requestTargets,
    ...standaloneTargets,
  ].sort((a, b) => (a.name < b.name ? -1 : 1))
}
