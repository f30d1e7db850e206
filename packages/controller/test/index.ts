/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export { smiVersions } from '../src/kubernetes/smi-discovery.js'
export { allFlags, refused, warned, type AdmissionCase } from './admission-cases.js'
export { WorkloadApiStandIn, type Registration } from './workload-api/workload-api-stand-in.js'
