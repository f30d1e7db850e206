export { pipyErrorCodes, type PipyErrorCode } from './errors.js'
