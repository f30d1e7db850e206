/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export { parseCallee, parseCaller } from '../src/policy-question.js'
export { askPolicy } from '../src/spec/ask-policy.js'
export { loadFolder, standaloneNaming } from '../src/spec/load-folder.js'
export { prometheusTraffic } from '../src/dashboard/prometheus-traffic.js'
export { DashboardBehindLogin } from './dashboard-behind-login.js'
