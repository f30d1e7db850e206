export { checkInterception, type InterceptionCheck } from './check-interception.js'
export {
  InterceptionError,
  interceptionErrorCodes,
  type InterceptionErrorCode,
  type InterceptionProblem,
} from './errors.js'
export { renderInitScript } from './init-script.js'
export { interceptionRules } from './interception-rules.js'
export { addressFamily, parseIpRange, type IpFamily, type IpRange } from './ip-range.js'
export {
  interceptionDefaults,
  listLimits,
  type DnsCapture,
  type InterceptionOptions,
  type InterceptionSettings,
} from './options.js'
export { renderRestore } from './render-restore.js'
export {
  formatRuleSpec,
  type DnatDestination,
  type FamilyRules,
  type InterceptionRules,
  type Match,
  type Rule,
  type RuleTable,
  type Target,
} from './rule.js'
