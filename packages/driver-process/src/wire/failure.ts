import { Metadata, status, type ServiceError } from '@grpc/grpc-js'
import { type ErrorDetails, isOsmError, OsmError } from '@osm-ts/driver-api'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import type { DriverProcessErrorCode } from '../errors.js'
import { messages } from './messages.js'

const TRAILER = 'osm-error-bin'
const CODE = /^OSM_[A-Z0-9]+(_[A-Z0-9]+)*$/
/** What the other side says is cut off here: it goes into events and answers to admission requests. */
const MAX_MESSAGE = 4_096

/** What is told to the other side: code, message and details of an OsmError, the message of any other error. */
export function toServiceError(error: unknown): Partial<ServiceError> {
  const metadata = new Metadata()
  const message = errorMessage(error)
  if (isToldError(error)) {
    const details = Object.keys(error.details).length === 0 ? '' : JSON.stringify(error.details)
    const said = { code: error.code, message: message.slice(0, MAX_MESSAGE), details: details.slice(0, MAX_MESSAGE) }
    metadata.set(TRAILER, messages.failure.encode(details.length > MAX_MESSAGE ? { ...said, details: '' } : said))
  }
  return { code: status.UNKNOWN, details: Buffer.from(message.slice(0, 500)).toString(), metadata }
}

/** An OsmError of whichever copy of driver-api: a package brings its own. */
function isToldError(error: unknown): error is OsmError {
  return (
    error instanceof Error &&
    error.name === 'OsmError' &&
    'code' in error &&
    'details' in error &&
    isRecord(error.details)
  )
}

/** The error that the other side told, or what became of the call. `what` begins the sentence, such as `driver x, asked for a patch,`. */
export function fromServiceError(error: unknown, what: string): OsmError {
  if (isOsmError(error)) return error
  const { code, metadata, details } = error as Partial<ServiceError>
  const told = toldFailure(metadata)
  if (told !== undefined) return told
  switch (code) {
    case status.DEADLINE_EXCEEDED:
      return processError('OSM_DRIVER_TIMEOUT', `${what} did not answer in time`)
    // A call that gRPC does not even make, because the client was closed meanwhile, has no status.
    case undefined:
    case status.UNAVAILABLE:
      return processError('OSM_DRIVER_UNAVAILABLE', `${what} cannot be reached`)
    default:
      return processError('OSM_DRIVER_PROTOCOL', `${what} failed: ${details ?? errorMessage(error)}`)
  }
}

/** True for what says that the driver did not behave, instead of what it says about a request. */
export function isFault(error: unknown): error is OsmError {
  return isOsmError(error, 'OSM_DRIVER_TIMEOUT') || isOsmError(error, 'OSM_DRIVER_UNAVAILABLE')
}

export function processError(code: DriverProcessErrorCode, message: string, details: ErrorDetails = {}): OsmError {
  return new OsmError(code, message, { details })
}

function toldFailure(metadata: Metadata | undefined): OsmError | undefined {
  const [bytes] = metadata?.get(TRAILER) ?? []
  if (!(bytes instanceof Uint8Array)) return undefined
  try {
    const { code, message, details } = messages.failure.decode(bytes)
    if (!CODE.test(code)) return undefined
    return new OsmError(code, message.slice(0, MAX_MESSAGE), { details: readDetails(details) })
  } catch {
    // The trailer has no failure; the status has the reason.
    return undefined
  }
}

function readDetails(json: string): ErrorDetails {
  if (json === '') return {}
  const value: unknown = JSON.parse(json)
  if (!isRecord(value)) return {}
  const isDetail = (detail: unknown): boolean =>
    ['string', 'number', 'boolean'].includes(typeof detail) ||
    (Array.isArray(detail) && detail.every((item) => typeof item === 'string'))
  // Only what isDetail lets pass is left.
  return Object.fromEntries(Object.entries(value).filter(([, detail]) => isDetail(detail))) as ErrorDetails
}
