import { redact } from '../../packages/driver-envoy/src/server/redact.js'
import {
  decodeDeltaRequest,
  decodeStateOfTheWorldRequest,
} from '../../packages/driver-envoy/src/server/state/request-codec.js'
import { type FuzzTarget, invariant, textOf } from '../fuzz-target.js'

/** The library for protobuf throws what JavaScript itself throws; the server ends the stream for any error. */
const isWireError = (error: unknown): boolean => error instanceof Error && !(error instanceof TypeError)
const SECRET = 'MIGHAgEAMBMGByqGSM49'

function decoded(decode: () => object): unknown {
  try {
    return decode()
  } catch (error) {
    if (!isWireError(error)) throw error
    return { error: (error as Error).message }
  }
}

/** What proxies of class envoy send. */
export const envoyTargets: readonly FuzzTarget[] = [
  {
    name: 'xds-delta-request',
    about: 'Bytes of delta requests, nodes and resource names among them: decoded within their length, or refused.',
    form: 'bytes',
    words: ['type.googleapis.com/envoy.config.cluster.v3.Cluster', '*', '\n', '\u0012'],
    run: (input) => decoded(() => decodeDeltaRequest(input)),
  },
  {
    name: 'xds-sotw-request',
    about: 'Bytes of state-of-the-world requests: decoded within their length, or refused.',
    form: 'bytes',
    words: ['type.googleapis.com/envoy.config.listener.v3.Listener', '*', '\n', '\u001a'],
    run: (input) => decoded(() => decodeStateOfTheWorldRequest(input)),
  },
  {
    name: 'xds-error-detail',
    about: 'Words of proxies that refuse a resource: shortened, and without keys, however they are quoted.',
    form: 'text',
    words: [
      '-----BEGIN PRIVATE KEY-----',
      '-----END PRIVATE KEY-----',
      'inline_string: "',
      'private_key',
      '\\"',
      '=',
      '"',
    ],
    run: (input) => {
      const text = textOf(input)
      const shown = redact(text)
      invariant(shown.length <= 4096, 'words of a proxy that are too long')
      // Between the frames of a key nothing is shown.
      const framed = redact(
        `${text.replaceAll(/["'\\]/g, '')} -----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`,
      )
      invariant(!framed.includes(SECRET), 'a key is shown')
      return shown
    },
  },
]
