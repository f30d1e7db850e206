export { capabilities } from './capabilities.js'
export { createHaproxyDriver } from './driver.js'
export type { ConfigFile, HaproxyDocument, Slot, Translation } from './translate/document.js'
export { translate } from './translate/translate.js'
