export { createEnvoyDriver, type EnvoyErrorCode, envoyErrorCodes } from './driver.js'
export { Translator } from './translate/translator.js'
