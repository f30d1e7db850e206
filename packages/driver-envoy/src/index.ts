export { createEnvoyDriver } from './driver.js'
export { envoyErrorCodes, type EnvoyErrorCode } from './errors.js'
export { Translator } from './translate/translator.js'
