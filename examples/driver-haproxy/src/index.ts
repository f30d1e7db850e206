export { capabilities } from './capabilities.js'
export type { ConfigFile, HaproxyDocument, Slot, Translation } from './translate/document.js'
export type { PartLookup, Refusal } from './translate/policy-reader.js'
export { translate } from './translate/translate.js'
