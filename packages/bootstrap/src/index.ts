export { bootstrapErrorCodes, type BootstrapErrorCode } from './error-codes.js'
